// Launchers that gather tensors into one buffer of f32, in which processes add them up, and take them out again.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"

namespace ampc::cuda {

struct PackTensor {
  const void* from = nullptr;  // of LaunchPack
  void* to = nullptr;          // of LaunchUnpack
  int64_t elements = 0;
  int64_t offset = 0;        // of its first element in the buffer
  DType type = DType::kF32;  // f32, f16 or bf16
};

// pack[offset + i] = from[i].
int LaunchPack(void* stream, const PackTensor* tensors, int64_t n, float* pack);
// to[i] = pack[offset + i] * factor, rounded once.
int LaunchUnpack(void* stream, const PackTensor* tensors, int64_t n, const float* pack, float factor);

}  // namespace ampc::cuda
