// ScalarSource: a parameter of a device kernel that is known, or is the element of an operand in device memory.
#pragma once

#include <cstdint>

#include "kernels/common/integer.h"
#include "kernels/cuda/launch/lanes.h"

namespace ampc::cuda {

struct ScalarSource {
  double fixed = 0;
  int64_t fixed_integer = 0;   // the same with every bit of an integer
  const void* data = nullptr;  // null: fixed
  DType dtype = DType::kF32;

  AMPC_HOST_DEVICE double Get() const {
    if (data == nullptr) return fixed;
    switch (dtype) {
      case DType::kF32:
      case DType::kF16:
      case DType::kBF16: return static_cast<double>(LoadOne<float>(dtype, data, 0));
      case DType::kF64: return LoadOne<double>(dtype, data, 0);
      default: return static_cast<double>(LoadOne<int64_t>(dtype, data, 0));
    }
  }
  // Toward zero; of a float out of range the nearest end.
  AMPC_HOST_DEVICE int64_t GetInteger() const {
    if (data == nullptr) return fixed_integer;
    switch (dtype) {
      case DType::kF32:
      case DType::kF16:
      case DType::kBF16:
      case DType::kF64: return integer::FromFloat<int64_t>(Get());
      default: return LoadOne<int64_t>(dtype, data, 0);
    }
  }
};

}  // namespace ampc::cuda
