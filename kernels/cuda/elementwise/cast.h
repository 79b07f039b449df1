// Launcher of conversions between any two types that are not complex.
#pragma once

#include "kernels/cuda/launch/elementwise.h"

namespace ampc::cuda {

// As kernels/cpu/elementwise/cast_loop.h says. `x` may be `out` where the types have one size.
int LaunchCast(void* stream, DType from, const void* x, DType to, void* out, int64_t n);

}  // namespace ampc::cuda
