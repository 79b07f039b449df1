// Values of a device's tensors: memory holds the declared type, arithmetic happens in another. The one dtype switch of device code.
#pragma once

#include <cstdint>

#include "graph/base/bfloat16.h"
#include "graph/base/dtype.h"
#include "graph/base/half.h"
#include "kernels/common/host_device.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace ampc::cuda {

// The type that values stored as T are computed in: float for f16 and bf16.
template <class T>
struct ComputeTypeOf {
  using Type = T;
};
template <>
struct ComputeTypeOf<Half> {
  using Type = float;
};
template <>
struct ComputeTypeOf<BFloat16> {
  using Type = float;
};
template <class T>
using ComputeType = typename ComputeTypeOf<T>::Type;

template <class T>
AMPC_HOST_DEVICE inline ComputeType<T> Load(const T& x) {
  return x;
}
AMPC_HOST_DEVICE inline float Load(const Half& x) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(x.bits));
#else
  return static_cast<float>(x);
#endif
}
AMPC_HOST_DEVICE inline float Load(const BFloat16& x) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
#else
  return static_cast<float>(x);
#endif
}

// Rounds to nearest even where T is narrower.
template <class T>
AMPC_HOST_DEVICE inline void Store(T& to, ComputeType<T> value) {
  to = value;
}
AMPC_HOST_DEVICE inline void Store(Half& to, float value) {
#if defined(__CUDA_ARCH__)
  to.bits = __half_as_ushort(__float2half_rn(value));
#else
  to = Half(value);
#endif
}
AMPC_HOST_DEVICE inline void Store(BFloat16& to, float value) {
#if defined(__CUDA_ARCH__)
  to.bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
  to = BFloat16(value);
#endif
}

template <class T>
struct TypeTag {
  using Type = T;
};

inline constexpr int kAccessBytes = 16;  // what one access reads or writes at most, at an address that is a multiple
AMPC_HOST_DEVICE inline bool IsAligned(const void* at) { return reinterpret_cast<uintptr_t>(at) % kAccessBytes == 0; }

// f(TypeTag<T>{}) for the type of `dtype`, which is a float; -1 for another.
template <class F>
int VisitFloat(DType dtype, F f) {
  switch (dtype) {
    case DType::kF32: return f(TypeTag<float>{});
    case DType::kF16: return f(TypeTag<Half>{});
    case DType::kBF16: return f(TypeTag<BFloat16>{});
    case DType::kF64: return f(TypeTag<double>{});
    default: return -1;
  }
}

// The same for every type but complex ones.
template <class F>
int VisitReal(DType dtype, F f) {
  switch (dtype) {
    case DType::kBool: return f(TypeTag<bool>{});
    case DType::kU8: return f(TypeTag<uint8_t>{});
    case DType::kI8: return f(TypeTag<int8_t>{});
    case DType::kI16: return f(TypeTag<int16_t>{});
    case DType::kI32: return f(TypeTag<int32_t>{});
    case DType::kI64: return f(TypeTag<int64_t>{});
    default: return VisitFloat(dtype, f);
  }
}

// f with an unsigned integer as wide as an element, for what only moves values; complex 128 is a struct.
struct Bytes16 {
  uint64_t low, high;
};
template <class F>
int VisitWidth(int64_t bytes, F f) {
  switch (bytes) {
    case 1: return f(TypeTag<uint8_t>{});
    case 2: return f(TypeTag<uint16_t>{});
    case 4: return f(TypeTag<uint32_t>{});
    case 8: return f(TypeTag<uint64_t>{});
    case 16: return f(TypeTag<Bytes16>{});
    default: return -1;
  }
}

}  // namespace ampc::cuda
