// Elements of arrays whose type, f32, f16 or bf16, is known at run time only.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {

AMPC_HOST_DEVICE inline float LoadSingle(const void* data, DType type, int64_t i) {
  switch (type) {
    case DType::kF16: return Load(static_cast<const Half*>(data)[i]);
    case DType::kBF16: return Load(static_cast<const BFloat16*>(data)[i]);
    default: return static_cast<const float*>(data)[i];
  }
}

// Rounds to the type.
AMPC_HOST_DEVICE inline void StoreSingle(void* data, DType type, int64_t i, float value) {
  switch (type) {
    case DType::kF16: return Store(static_cast<Half*>(data)[i], value);
    case DType::kBF16: return Store(static_cast<BFloat16*>(data)[i], value);
    default: static_cast<float*>(data)[i] = value;
  }
}

}  // namespace ampc::cuda
