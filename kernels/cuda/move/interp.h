// Resizing and its gradient.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/interp_taps.h"

namespace ampc::cuda {

// [planes, depth, height, width, channels] of a float type.
struct InterpParams {
  DType type = DType::kF32;
  int64_t planes = 0, channels = 1;
  InterpAxis axes[3];  // depth, height, width
};
int LaunchInterp(void* stream, const InterpParams& p, const void* x, void* out);
// Each element of the operand adds, in the order of the results, what it gave to.
int LaunchInterpGradient(void* stream, const InterpParams& p, const void* gradient, void* out);

}  // namespace ampc::cuda
