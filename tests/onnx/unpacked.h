// Models whose feeds and fetches are sequences, run with tensors.
#pragma once

#include <vector>

#include "graph/program.h"

namespace ampc::testing {

// Each feed of `program` that is a sequence becomes as many feeds as `feeds` says at its place, of its elements; each fetch that is one
// becomes the fetch of its length, i64 [1], and then those of as many elements as `fetches` says. Without sequences nothing changes.
void UnpackSequences(const std::vector<int>& feeds, const std::vector<int>& fetches, Program& program);

}  // namespace ampc::testing
