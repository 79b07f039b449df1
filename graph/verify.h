// Verify: is the program well formed?
//
// Checks types by running inference again and comparing, single assignment, definition before use, block scoping,
// unique names, attribute types, signature, kinds of overwritten results, captures of sub-blocks.
#pragma once

#include "absl/status/status.h"
#include "graph/program.h"

namespace ampc {

// The first problem in program order, as one sentence (with the line of the text where known). O(program).
absl::Status Verify(const Program& program);

}  // namespace ampc
