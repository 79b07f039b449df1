// The element-wise arithmetic on scalars, for host and device: functors::Relu::Apply(ScalarMath<float>{}, x, params).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/common/host_device.h"

namespace ampc::functors {

template <typename Float>
struct Params {
  Float a = 0, b = 0, c = 0;
};

template <typename Float>
struct ScalarMath {
  using T = Float;
  static AMPC_HOST_DEVICE T Set(T v) { return v; }
  static AMPC_HOST_DEVICE T Select(bool mask, T yes, T no) { return mask ? yes : no; }
  static AMPC_HOST_DEVICE bool Or(bool a, bool b) { return a || b; }
  static AMPC_HOST_DEVICE bool IsNaN(T v) { return v != v; }
  static AMPC_HOST_DEVICE T Exp(T v) { return std::exp(v); }
  static AMPC_HOST_DEVICE T Quotient(T a, T b) { return a / b; }
  static AMPC_HOST_DEVICE T Log(T v) { return std::log(v); }
  static AMPC_HOST_DEVICE T Sqrt(T v) { return std::sqrt(v); }
  static AMPC_HOST_DEVICE T Abs(T v) { return std::fabs(v); }
  static AMPC_HOST_DEVICE T Tanh(T v) { return std::tanh(v); }
  static AMPC_HOST_DEVICE T Erf(T v) { return std::erf(v); }
  static AMPC_HOST_DEVICE T Phi(T v) { return T(0.5) * std::erfc(v * T(-0.70710678118654752)); }
  static AMPC_HOST_DEVICE T Pow(T x, T y) { return std::pow(x, y); }
  static AMPC_HOST_DEVICE T CopySign(T x, T y) { return std::copysign(x, y); }
  static AMPC_HOST_DEVICE T Expm1(T v) { return std::expm1(v); }
  static AMPC_HOST_DEVICE T Log1p(T v) { return std::log1p(v); }
  static AMPC_HOST_DEVICE T Floor(T v) { return std::floor(v); }
  static AMPC_HOST_DEVICE T Ceil(T v) { return std::ceil(v); }
  static AMPC_HOST_DEVICE T Trunc(T v) { return std::trunc(v); }
  static AMPC_HOST_DEVICE T Log2(T v) { return std::log2(v); }
  static AMPC_HOST_DEVICE T Log10(T v) { return std::log10(v); }
  static AMPC_HOST_DEVICE T Sin(T v) { return std::sin(v); }
  static AMPC_HOST_DEVICE T Cos(T v) { return std::cos(v); }
  static AMPC_HOST_DEVICE T Tan(T v) { return std::tan(v); }
  static AMPC_HOST_DEVICE T Asin(T v) { return std::asin(v); }
  static AMPC_HOST_DEVICE T Acos(T v) { return std::acos(v); }
  static AMPC_HOST_DEVICE T Atan(T v) { return std::atan(v); }
  static AMPC_HOST_DEVICE T Sinh(T v) { return std::sinh(v); }
  static AMPC_HOST_DEVICE T Cosh(T v) { return std::cosh(v); }
  static AMPC_HOST_DEVICE T Asinh(T v) { return std::asinh(v); }
  static AMPC_HOST_DEVICE T Acosh(T v) { return std::acosh(v); }
  static AMPC_HOST_DEVICE T Atanh(T v) { return std::atanh(v); }
};

// The remainder with the sign of y.
template <typename T>
AMPC_HOST_DEVICE inline T FloorMod(T x, T y) {
  const T r = std::fmod(x, y);
  return r != 0 && ((r < 0) != (y < 0)) ? r + y : r;
}

// The quotient rounded down, as Python rounds it: of the exact quotient, not of the float nearest to it (1 / 0.1f is 9).
template <typename T>
AMPC_HOST_DEVICE inline T FloorDiv(T x, T y) {
  if (y == 0) return x / y;
  const T r = std::fmod(x, y);
  T q = (x - r) / y;
  if (r != 0 && ((r < 0) != (y < 0))) q -= 1;
  if (q == 0) return std::copysign(T(0), x / y);
  const T whole = std::floor(q);
  return q - whole > T(0.5) ? whole + 1 : whole;
}

#define AMPC_FN AMPC_HOST_DEVICE inline
#include "kernels/common/functors.inc"
#undef AMPC_FN

}  // namespace ampc::functors

// Every unary functor, for enumerations and tables: X(Name).
// clang-format off
#define AMPC_CHEAP_FUNCTORS(X) AMPC_CHEAP_ACTIVATION_FUNCTORS(X) AMPC_CHEAP_ARITHMETIC_FUNCTORS(X) AMPC_CHEAP_TRANSCENDENTAL_FUNCTORS(X)
#define AMPC_UNARY_FUNCTORS(X) AMPC_CHEAP_FUNCTORS(X) AMPC_ACTIVATION_FUNCTORS(X) AMPC_ARITHMETIC_FUNCTORS(X) AMPC_TRANSCENDENTAL_FUNCTORS(X)
#define AMPC_UNARY_GRADIENTS(X) AMPC_ACTIVATION_GRADIENTS(X) AMPC_ARITHMETIC_GRADIENTS(X) AMPC_TRANSCENDENTAL_GRADIENTS(X)

#define AMPC_BINARY_FUNCTORS(X) X(Add) X(Sub) X(Mul) X(Div) X(Max) X(Min) X(Pow) X(FMax) X(FMin)
// clang-format on
