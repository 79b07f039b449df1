// Launchers of the device code of pooling.
#pragma once

#include <cstdint>

#include "kernels/cuda/base/volume.h"

namespace ampc::cuda {

// Windows along one axis, as kernels/cpu/pool.cc has them: cut to the operand.
struct PoolAxis {
  bool adaptive = true;  // window i is [i * in / out, (i + 1) * in / out), rounded outwards; the rest is not read
  int64_t kernel = 1, stride = 1, before = 0, after = 0;
};

// Of one float type; x and gradients have sizes of the operand or of the result, in any layout each.
struct Pool {
  bool max = false;
  bool exclusive = true;  // a mean counts the positions inside the operand
  PoolAxis axis[3];
  Volume x, out;
};

int LaunchPool(void* stream, const Pool& pool);
// Writes to `to` (the sizes of x) the gradient of x from that of out: per operand element a loop over the windows that have it, in order. A
// window's largest value has its gradient at the first position that holds it. Of a mean x.data and out.data are not read.
int LaunchPoolGradient(void* stream, const Pool& pool, const Volume& gradient, const Volume& to);

}  // namespace ampc::cuda
