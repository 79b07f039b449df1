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
  static AMPC_HOST_DEVICE T Log(T v) { return std::log(v); }
  static AMPC_HOST_DEVICE T Sqrt(T v) { return std::sqrt(v); }
  static AMPC_HOST_DEVICE T Abs(T v) { return std::fabs(v); }
  static AMPC_HOST_DEVICE T Tanh(T v) { return std::tanh(v); }
  static AMPC_HOST_DEVICE T Erf(T v) { return std::erf(v); }
  static AMPC_HOST_DEVICE T Phi(T v) { return T(0.5) * std::erfc(v * T(-0.70710678118654752)); }
  static AMPC_HOST_DEVICE T Pow(T x, T y) { return std::pow(x, y); }
};

// The remainder with the sign of y.
template <typename T>
AMPC_HOST_DEVICE inline T FloorMod(T x, T y) {
  const T r = std::fmod(x, y);
  return r != 0 && ((r < 0) != (y < 0)) ? r + y : r;
}

#define AMPC_FN AMPC_HOST_DEVICE inline
#include "kernels/common/functors.inc"
#undef AMPC_FN

}  // namespace ampc::functors

// Every unary functor, for enumerations and tables: X(Name).
#define AMPC_UNARY_FUNCTORS(X)                                                                                                           \
  X(Relu)                                                                                                                                \
  X(Clip) X(Sigmoid) X(Tanh) X(Erf) X(Gelu) X(GeluTanh) X(Swish) X(HardSwish) X(HardSigmoid) X(LeakyRelu) X(Exp) X(Log) X(Sqrt) X(Rsqrt) \
      X(Square) X(Cube) X(Reciprocal) X(PowHalf) X(PowScalar) X(Abs) X(ScaleThenBias) X(BiasThenScale)

#define AMPC_BINARY_FUNCTORS(X) X(Add) X(Sub) X(Mul) X(Div) X(Max) X(Min) X(Pow)
