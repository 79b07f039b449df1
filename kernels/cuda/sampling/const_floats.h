// Elements of a float type that is known when a kernel runs only; for device code.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {

struct ConstFloats {
  DType type = DType::kF32;
  const void* at = nullptr;
};

// Element i in the compute type C.
template <class C>
AMPC_HOST_DEVICE inline C LoadFloat(const ConstFloats& x, int64_t i) {
  switch (x.type) {
    case DType::kF16: return static_cast<C>(Load(static_cast<const Half*>(x.at)[i]));
    case DType::kBF16: return static_cast<C>(Load(static_cast<const BFloat16*>(x.at)[i]));
    case DType::kF64: return static_cast<C>(static_cast<const double*>(x.at)[i]);
    default: return static_cast<C>(static_cast<const float*>(x.at)[i]);
  }
}

template <class C>
AMPC_HOST_DEVICE inline void StoreFloat(DType type, void* to, int64_t i, C value) {
  switch (type) {
    case DType::kF16: Store(static_cast<Half*>(to)[i], static_cast<float>(value)); break;
    case DType::kBF16: Store(static_cast<BFloat16*>(to)[i], static_cast<float>(value)); break;
    case DType::kF64: static_cast<double*>(to)[i] = static_cast<double>(value); break;
    default: static_cast<float*>(to)[i] = static_cast<float>(value); break;
  }
}

}  // namespace ampc::cuda
