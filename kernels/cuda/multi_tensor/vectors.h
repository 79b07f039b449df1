// Runs of elements, loaded and stored with as few accesses as there are pieces of 16 bytes.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/common/host_device.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {

// The elements that are read and written at once, at most 16 bytes.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Vector {
  T v[kCount];
};

// How many elements of a run of kCount are one Vector.
template <class T, int kCount>
inline constexpr int kVectorLength = kCount * sizeof(T) <= kAccessBytes ? kCount : kAccessBytes / static_cast<int>(sizeof(T));

// nvcc splits the assignment of a struct into its elements where the code around it is not simple, so there the access is spelled out.
template <class T, int kCount>
AMPC_HOST_DEVICE inline void StoreVector(T* to, const Vector<T, kCount>& value) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(value) == 16) {
    uint4 words;
    memcpy(&words, &value, 16);
    __stwb(reinterpret_cast<uint4*>(to), words);
  } else if constexpr (sizeof(value) == 8) {
    uint2 words;
    memcpy(&words, &value, 8);
    __stwb(reinterpret_cast<uint2*>(to), words);
  } else {
    *reinterpret_cast<Vector<T, kCount>*>(to) = value;
  }
#else
  *reinterpret_cast<Vector<T, kCount>*>(to) = value;
#endif
}

// values[0..kCount) from `at`, aligned to kCount elements or 16 bytes, whichever is less (IsAligned is enough). kCount is a power of two.
template <int kCount, class T>
AMPC_HOST_DEVICE inline void LoadRun(const T* at, ComputeType<T> (&values)[kCount]) {
  constexpr int kLength = kVectorLength<T, kCount>;
  for (int k = 0; k < kCount; k += kLength) {
    const auto loaded = *reinterpret_cast<const Vector<T, kLength>*>(at + k);
    for (int j = 0; j < kLength; ++j) values[k + j] = Load(loaded.v[j]);
  }
}

template <int kCount, class T>
AMPC_HOST_DEVICE inline void StoreRun(T* at, const ComputeType<T> (&values)[kCount]) {
  constexpr int kLength = kVectorLength<T, kCount>;
  for (int k = 0; k < kCount; k += kLength) {
    Vector<T, kLength> stored;
    for (int j = 0; j < kLength; ++j) Store(stored.v[j], values[k + j]);
    StoreVector(at + k, stored);
  }
}

}  // namespace ampc::cuda
