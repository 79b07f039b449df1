// Operands and results whose type is known at run time only: what is read or written seldom, or not worth a kernel for each type.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {

// Not complex; a value is converted as C does. `data` may be null, which is for whoever holds it to know.
struct AnyInput {
  const void* data = nullptr;
  DType dtype = DType::kF32;

  template <class V>
  AMPC_HOST_DEVICE V Get(int64_t i) const {
    switch (dtype) {
      case DType::kBool:
      case DType::kU8: return static_cast<V>(static_cast<const uint8_t*>(data)[i]);
      case DType::kI8: return static_cast<V>(static_cast<const int8_t*>(data)[i]);
      case DType::kI16: return static_cast<V>(static_cast<const int16_t*>(data)[i]);
      case DType::kI32: return static_cast<V>(static_cast<const int32_t*>(data)[i]);
      case DType::kI64: return static_cast<V>(static_cast<const int64_t*>(data)[i]);
      default: return static_cast<V>(GetFloat(i));
    }
  }
  AMPC_HOST_DEVICE double GetFloat(int64_t i) const {
    switch (dtype) {
      case DType::kF16: return static_cast<double>(Load(static_cast<const Half*>(data)[i]));
      case DType::kBF16: return static_cast<double>(Load(static_cast<const BFloat16*>(data)[i]));
      case DType::kF64: return static_cast<const double*>(data)[i];
      default: return static_cast<double>(static_cast<const float*>(data)[i]);
    }
  }
};

struct AnyOutput {
  void* data = nullptr;
  DType dtype = DType::kF32;

  template <class V>
  AMPC_HOST_DEVICE void Set(int64_t i, V value) const {
    switch (dtype) {
      case DType::kBool: static_cast<bool*>(data)[i] = value != 0; break;
      case DType::kU8: static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(value); break;
      case DType::kI8: static_cast<int8_t*>(data)[i] = static_cast<int8_t>(value); break;
      case DType::kI16: static_cast<int16_t*>(data)[i] = static_cast<int16_t>(value); break;
      case DType::kI32: static_cast<int32_t*>(data)[i] = static_cast<int32_t>(value); break;
      case DType::kI64: static_cast<int64_t*>(data)[i] = static_cast<int64_t>(value); break;
      case DType::kF16: Store(static_cast<Half*>(data)[i], static_cast<float>(value)); break;
      case DType::kBF16: Store(static_cast<BFloat16*>(data)[i], static_cast<float>(value)); break;
      case DType::kF64: static_cast<double*>(data)[i] = static_cast<double>(value); break;
      default: static_cast<float*>(data)[i] = static_cast<float>(value); break;
    }
  }
};

}  // namespace ampc::cuda
