// Lanes: the few neighbours that one thread computes, read and written with accesses of 16 bytes where addresses allow it. Code is made for
// a class of types, not for each: float for f32, f16 and bf16, double for f64, int64_t for integers and bool. The stored type is a
// parameter of a launch, the same for all threads.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/launch/unroll.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {

// Neighbours of a thread: 8 halves, 2 doubles.
template <class C>
inline constexpr int kLanes = std::is_same_v<C, float>    ? 8
                              : std::is_same_v<C, double> ? 2
                                                          : 4;
inline constexpr int kMaxLanes = 8;

// f(T()) for the stored type T of the class C; nothing for a type of another class.
template <class C, class F>
AMPC_HOST_DEVICE inline void VisitStored(DType dtype, F f) {
  if constexpr (std::is_same_v<C, float>) {
    switch (dtype) {
      case DType::kF16: return f(Half());
      case DType::kBF16: return f(BFloat16());
      default: return f(float());
    }
  } else if constexpr (std::is_same_v<C, double>) {
    f(double());
  } else {
    switch (dtype) {
      case DType::kBool: return f(bool());
      case DType::kU8: return f(uint8_t());
      case DType::kI8: return f(int8_t());
      case DType::kI16: return f(int16_t());
      case DType::kI32: return f(int32_t());
      default: return f(int64_t());
    }
  }
}

// f(TypeTag<C>{}) for the class of a type that is not complex; -1 for another.
template <class F>
int VisitClass(DType dtype, F f) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return f(TypeTag<float>{});
    case DType::kF64: return f(TypeTag<double>{});
    case DType::kBool:
    case DType::kU8:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64: return f(TypeTag<int64_t>{});
    default: return -1;
  }
}

// From an element's value to the stored type: halves rounded to nearest even, integers modulo their width.
template <class C, class T>
AMPC_HOST_DEVICE inline void Put(T& to, C value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    Store(to, value);
  } else if constexpr (std::is_same_v<T, bool>) {
    to = value != 0;
  } else {
    to = static_cast<T>(value);
  }
}

template <class T, int n>
struct alignas(sizeof(T) * n < 16 ? sizeof(T) * n : 16) Pack {
  T v[n];
};

// One element.
template <class C>
AMPC_HOST_DEVICE inline C LoadOne(DType dtype, const void* data, int64_t i) {
  C value{};
  VisitStored<C>(dtype, [&](auto t) { value = static_cast<C>(Load(static_cast<const decltype(t)*>(data)[i])); });
  return value;
}
template <class C>
AMPC_HOST_DEVICE inline void StoreOne(DType dtype, void* data, int64_t i, C value) {
  VisitStored<C>(dtype, [&](auto t) { Put(static_cast<decltype(t)*>(data)[i], value); });
}

// All lanes, from position i on, which is a multiple of the lanes of an aligned array.
template <class C>
AMPC_HOST_DEVICE inline void LoadPack(DType dtype, const void* data, int64_t i, C (&v)[kLanes<C>]) {
  VisitStored<C>(dtype, [&](auto t) {
    using T = decltype(t);
    const auto pack = *reinterpret_cast<const Pack<T, kLanes<C>>*>(static_cast<const T*>(data) + i);
    AMPC_UNROLL
    for (int k = 0; k < kLanes<C>; ++k) v[k] = static_cast<C>(Load(pack.v[k]));
  });
}
template <class C>
AMPC_HOST_DEVICE inline void StorePack(DType dtype, void* data, int64_t i, const C (&v)[kLanes<C>]) {
  VisitStored<C>(dtype, [&](auto t) {
    using T = decltype(t);
    Pack<T, kLanes<C>> pack;
    AMPC_UNROLL
    for (int k = 0; k < kLanes<C>; ++k) Put(pack.v[k], v[k]);
    *reinterpret_cast<Pack<T, kLanes<C>>*>(static_cast<T*>(data) + i) = pack;
  });
}

}  // namespace ampc::cuda
