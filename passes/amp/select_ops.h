// Which ops of a program a selector means.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "graph/program.h"
#include "passes/amp/selector.h"

namespace ampc {

// By Op::id. Ops that AMP inserted belong to no selector, and names are those of the original program, so a converted program
// gets the ops that its original gets. The regions are those of fp16-guard. A selector that means no op is a usage error that
// says so, with the nearest names or with what there is. O(program) per selector.
absl::StatusOr<std::vector<bool>> SelectOps(const Selector& selector, const Program& program);

}  // namespace ampc
