// Comparisons, truth values and bits on scalars, for host and device: logic::Equal::Apply(x, y).
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/common/host_device.h"

namespace ampc::logic {

// Paddle takes floats closer than 1e-8 as equal.
struct Equal {
  template <typename T>
  static AMPC_HOST_DEVICE bool Apply(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) return x == y || std::abs(x - y) < T(1e-8);
    return x == y;
  }
};
struct NotEqual {
  template <typename T>
  static AMPC_HOST_DEVICE bool Apply(T x, T y) {
    return !Equal::Apply(x, y);
  }
};
struct Less {
  template <typename T>
  static AMPC_HOST_DEVICE bool Apply(T x, T y) {
    return x < y;
  }
};
struct LessEqual {
  template <typename T>
  static AMPC_HOST_DEVICE bool Apply(T x, T y) {
    return x <= y;
  }
};
struct Greater {
  template <typename T>
  static AMPC_HOST_DEVICE bool Apply(T x, T y) {
    return x > y;
  }
};
struct GreaterEqual {
  template <typename T>
  static AMPC_HOST_DEVICE bool Apply(T x, T y) {
    return x >= y;
  }
};
struct And {
  template <typename T>
  static AMPC_HOST_DEVICE bool Apply(T x, T y) {
    return (x != 0) & (y != 0);
  }
};
struct Or {
  template <typename T>
  static AMPC_HOST_DEVICE bool Apply(T x, T y) {
    return (x != 0) | (y != 0);
  }
};
struct Xor {
  template <typename T>
  static AMPC_HOST_DEVICE bool Apply(T x, T y) {
    return (x != 0) != (y != 0);
  }
};
struct Not {
  template <typename T>
  static AMPC_HOST_DEVICE bool Apply(T x) {
    return x == 0;
  }
};
struct BitAnd {
  template <typename T>
  static AMPC_HOST_DEVICE T Apply(T x, T y) {
    return static_cast<T>(x & y);
  }
};
struct BitOr {
  template <typename T>
  static AMPC_HOST_DEVICE T Apply(T x, T y) {
    return static_cast<T>(x | y);
  }
};
struct BitXor {
  template <typename T>
  static AMPC_HOST_DEVICE T Apply(T x, T y) {
    return static_cast<T>(x ^ y);
  }
};
struct BitNot {
  template <typename T>
  static AMPC_HOST_DEVICE T Apply(T x) {
    if constexpr (std::is_same_v<T, bool>)
      return !x;
    else
      return static_cast<T>(~x);
  }
};
struct IsFinite {
  template <typename T>
  static AMPC_HOST_DEVICE bool Apply(T x) {
    return std::is_integral_v<T> || x - x == 0;
  }
};
struct IsInf {
  template <typename T>
  static AMPC_HOST_DEVICE bool Apply(T x) {
    return std::is_floating_point_v<T> && x == x && x - x != 0;
  }
};
struct IsNaN {
  template <typename T>
  static AMPC_HOST_DEVICE bool Apply(T x) {
    return x != x;
  }
};

}  // namespace ampc::logic

// Every functor, for enumerations and tables: X(Name). The first take floats too.
#define AMPC_COMPARISONS(X) X(Equal) X(NotEqual) X(Less) X(LessEqual) X(Greater) X(GreaterEqual) X(And) X(Or) X(Xor)
#define AMPC_BIT_FUNCTORS(X) X(BitAnd) X(BitOr) X(BitXor)
#define AMPC_TRUTH_FUNCTORS(X) X(Not) X(IsFinite) X(IsInf) X(IsNaN)
