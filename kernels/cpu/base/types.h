// Types of tensors in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/base/dtype_switch.h"
#include "kernels/tensor_desc.h"

namespace ampc {

// Bytes of an element in memory; of a declared type, of one that is not stored as a half.
inline int64_t ElementSize(DType dtype) { return static_cast<int64_t>(SizeOf(StorageType(dtype))); }
inline int64_t ElementSize(const TensorDesc& t) { return static_cast<int64_t>(SizeOf(t.storage())); }

// Every type that a tensor in memory may have.
inline std::vector<DType> MovableTypes() {
  std::vector<DType> types;
  for (int i = 1; i < kNumDTypes; ++i) types.push_back(static_cast<DType>(i));
  return types;
}

// The declared types of a kernel that is written for the storage types of `List`.
template <typename List>
std::vector<DType> DeclaredTypes() {
  std::vector<DType> types;
  for (const DType declared : MovableTypes()) {
    if (List::Contains(StorageType(declared))) types.push_back(declared);
  }
  return types;
}

}  // namespace ampc
