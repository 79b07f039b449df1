// Launchers of squared_l2_norm and clip_by_norm, of one tensor or of many in a row.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"

namespace ampc::cuda {

struct NormTensor {
  const void* x = nullptr;
  void* out = nullptr;  // LaunchSquaredNorms: one number; LaunchClipByNorm: as x, may be x
  int64_t elements = 0;
  DType type = DType::kF32;      // of x: f32, f16, bf16, f64
  DType out_type = DType::kF32;  // of LaunchSquaredNorms' out
};

// How many doubles the workspace has for tensors with `chunks` chunks (ChunksOf in chunks.h) together.
inline int64_t NormWorkspace(int64_t tensors, int64_t chunks) { return tensors + chunks; }

// out = the sum of squares of x: runs of 4 in the type that is computed in, those in double, in an order that depends on the size only.
int LaunchSquaredNorms(void* stream, const NormTensor* tensors, int64_t n, double* workspace);

// out = x * (norm <= most ? 1 : most / norm).
int LaunchClipByNorm(void* stream, const NormTensor* tensors, int64_t n, double most, double* workspace);

}  // namespace ampc::cuda
