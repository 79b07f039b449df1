// Launchers of maps that a mask chooses: where, dropout and their gradients.
#pragma once

#include "kernels/cuda/elementwise/scalar_source.h"

namespace ampc::cuda {

// out = condition ? x : y; elements of `bytes` (1, 2, 4, 8 or 16).
int LaunchWhere(void* stream, int64_t bytes, const void* condition, const void* x, const void* y, void* out, int64_t n);

// out = factor * g where the mask is not 0 (where it is 0 if `inverse`), else 0. All of one float type; `out` may be g.
struct MaskParams {
  const void *g, *mask;
  void* out;
  int64_t n;
  DType dtype;
  bool inverse;
  double factor;
};
int LaunchMask(void* stream, const MaskParams& p);

// out = factor * x where the hash of the seed and the position keeps an element (kernels/common/keep_mask.h), else 0. `mask`, unless null,
// gets what was kept. `out` may be x.
struct DropoutParams {
  const void* x;
  void *out, *mask;
  int64_t n;
  DType dtype;
  ScalarSource seed;
  uint64_t own;        // what tells this op from others with the same seed
  uint64_t threshold;  // of Keep
  double factor;
};
int LaunchDropout(void* stream, const DropoutParams& p);

}  // namespace ampc::cuda
