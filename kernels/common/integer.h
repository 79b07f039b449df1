// Integer arithmetic with defined results: sums and products wrap, the smallest value divided by -1 stays itself.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/common/host_device.h"

namespace ampc::integer {

// Wide enough that no product of two of the narrower types overflows it.
template <typename T>
using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T>
AMPC_HOST_DEVICE inline T Add(T x, T y) {
  return static_cast<T>(static_cast<Wide<T>>(x) + static_cast<Wide<T>>(y));
}

template <typename T>
AMPC_HOST_DEVICE inline T Sub(T x, T y) {
  return static_cast<T>(static_cast<Wide<T>>(x) - static_cast<Wide<T>>(y));
}

template <typename T>
AMPC_HOST_DEVICE inline T Mul(T x, T y) {
  return static_cast<T>(static_cast<Wide<T>>(x) * static_cast<Wide<T>>(y));
}

// Toward zero; y is not 0.
template <typename T>
AMPC_HOST_DEVICE inline T Div(T x, T y) {
  if constexpr (std::is_signed_v<T>) {
    if (y == T(-1)) return Sub(T(0), x);
  }
  return static_cast<T>(x / y);
}

// Toward minus infinity; y is not 0.
template <typename T>
AMPC_HOST_DEVICE inline T FloorDiv(T x, T y) {
  const T q = Div(x, y);
  return Sub(x, Mul(q, y)) != 0 && ((x < 0) != (y < 0)) ? static_cast<T>(q - 1) : q;
}

// x - y * FloorDiv(x, y): has the sign of y.
template <typename T>
AMPC_HOST_DEVICE inline T FloorMod(T x, T y) {
  return Sub(x, Mul(FloorDiv(x, y), y));
}

// A float's value toward zero; out of range the nearest end of T; NaN is 0.
template <typename T, typename F>
AMPC_HOST_DEVICE inline T FromFloat(F v) {
  // Both limits are powers of two (or zero), exact in every float type; max() itself may not be.
  constexpr F kEnd = static_cast<F>(static_cast<F>(std::numeric_limits<T>::max() / 2 + 1) * 2);
  constexpr F kBegin = static_cast<F>(std::numeric_limits<T>::min());
  if (v != v) return 0;
  if (v >= kEnd) return std::numeric_limits<T>::max();
  if (v <= kBegin) return std::numeric_limits<T>::min();
  return static_cast<T>(v);
}

// Wraps. With an exponent below 0 the double power, rounded to nearest: 1, -1 or 0, and the largest value for x = 0.
template <typename T>
AMPC_HOST_DEVICE inline T Pow(T x, T y) {
  if constexpr (std::is_signed_v<T>) {
    if (y < 0) return FromFloat<T>(std::rint(std::pow(static_cast<double>(x), static_cast<double>(y))));
  }
  T power = 1;
  for (; y > 0; y = static_cast<T>(y / 2)) {
    if (y % 2 != 0) power = Mul(power, x);
    x = Mul(x, x);
  }
  return power;
}

}  // namespace ampc::integer
