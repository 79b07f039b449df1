// AnyFloat: an array of floats whose type is known at run time only, for the few numbers that a kernel reads per channel or once.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {

struct AnyFloat {
  void* data = nullptr;  // null: absent
  DType type = DType::kF32;

  AMPC_HOST_DEVICE double Get(int64_t i) const {
    switch (type) {
      case DType::kF16: return Load(static_cast<const Half*>(data)[i]);
      case DType::kBF16: return Load(static_cast<const BFloat16*>(data)[i]);
      case DType::kF64: return static_cast<const double*>(data)[i];
      default: return static_cast<const float*>(data)[i];
    }
  }
  // Rounded to the type; nothing where it is absent.
  AMPC_HOST_DEVICE void Set(int64_t i, float value) const {
    if (data == nullptr) return;
    switch (type) {
      case DType::kF16: return Store(static_cast<Half*>(data)[i], value);
      case DType::kBF16: return Store(static_cast<BFloat16*>(data)[i], value);
      case DType::kF64: static_cast<double*>(data)[i] = value; return;
      default: static_cast<float*>(data)[i] = value;
    }
  }
};

}  // namespace ampc::cuda
