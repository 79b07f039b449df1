// Launchers of sums of several tensors, and of maps with an operand per channel.
#pragma once

#include "kernels/cuda/launch/elementwise.h"

namespace ampc::cuda {

inline constexpr int kMaxTerms = 256;  // as many as a kernel's parameters hold

// The terms added from first to last, in the class of the result's type, and rounded once. `out` may be the first term.
struct SumParams {
  const void* in[kMaxTerms];
  DType dtype[kMaxTerms];
  int terms;
  MapResult out;
  int64_t n;
};
int LaunchSum(void* stream, const SumParams& p);

// x < 0 ? alpha * x : x, where in[1] is alpha.
int LaunchPrelu(void* stream, const MapParams<2>& map);
// in[0] * in[1] + in[2], rounded once to float.
int LaunchAffine(void* stream, const MapParams<3>& map);

}  // namespace ampc::cuda
