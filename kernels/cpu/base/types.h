// Types of tensors in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernel.h"

namespace ampc {

// Bytes of an element in memory.
inline int64_t ElementSize(DType dtype) { return static_cast<int64_t>(SizeOf(StorageType(dtype))); }

// Every type that a tensor in memory may have.
inline std::vector<DType> MovableTypes() {
  return {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kBool, DType::kU8,
          DType::kI8,  DType::kI16, DType::kI32,  DType::kI64, DType::kC64,  DType::kC128};
}

}  // namespace ampc
