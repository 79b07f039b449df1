// Launcher of maps of two broadcast operands of one class.
#pragma once

#include "kernels/common/binary_math.h"
#include "kernels/cuda/launch/elementwise.h"

namespace ampc::cuda {

// Computes in the class of the result's type. An integer divided by 0 is 0: a kernel cannot report it.
int LaunchBinary(void* stream, Op2 op, const MapParams<2>& map);

}  // namespace ampc::cuda
