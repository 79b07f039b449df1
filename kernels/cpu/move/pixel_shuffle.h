// The strided copy that pixel_shuffle is.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/op.h"

namespace ampc {

// Of an operand of `x` without empty dims: sizes, and strides in the operand and in the result.
struct ShuffleSpec {
  std::vector<int64_t> dims, from, to;
};
ShuffleSpec ReadPixelShuffle(const Op& op, const Dims& x);

}  // namespace ampc
