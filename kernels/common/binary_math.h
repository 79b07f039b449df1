// The arithmetic of elementwise_* and atan2 on two scalars of one type, for host and device.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/common/functors.h"
#include "kernels/common/host_device.h"
#include "kernels/common/integer.h"

namespace ampc {

// The first nine are functors::BinaryOp's.
enum class Op2 : uint8_t { kAdd, kSub, kMul, kDiv, kMax, kMin, kPow, kFMax, kFMin, kMod, kFloorDiv, kAtan2 };

// False when y, a divisor, is 0; *out is then 0.
template <typename T>
AMPC_HOST_DEVICE inline bool ComputeInteger(Op2 op, T x, T y, T* out) {
  switch (op) {
    case Op2::kAdd: *out = integer::Add(x, y); return true;
    case Op2::kSub: *out = integer::Sub(x, y); return true;
    case Op2::kMul: *out = integer::Mul(x, y); return true;
    case Op2::kMax:
    case Op2::kFMax: *out = x < y ? y : x; return true;
    case Op2::kMin:
    case Op2::kFMin: *out = y < x ? y : x; return true;
    case Op2::kPow: *out = integer::Pow(x, y); return true;
    default: break;
  }
  *out = 0;
  if (y == 0) return false;
  *out = op == Op2::kDiv ? integer::Div(x, y) : op == Op2::kMod ? integer::FloorMod(x, y) : integer::FloorDiv(x, y);
  return true;
}

template <typename T>
AMPC_HOST_DEVICE inline T ComputeFloat(Op2 op, T x, T y) {
  using M = functors::ScalarMath<T>;
  switch (op) {
    case Op2::kAdd: return x + y;
    case Op2::kSub: return x - y;
    case Op2::kMul: return x * y;
    case Op2::kDiv: return x / y;
    case Op2::kMax: return functors::Max::Apply(M{}, x, y);
    case Op2::kMin: return functors::Min::Apply(M{}, x, y);
    case Op2::kPow: return std::pow(x, y);
    case Op2::kFMax: return functors::FMax::Apply(M{}, x, y);
    case Op2::kFMin: return functors::FMin::Apply(M{}, x, y);
    case Op2::kAtan2: return std::atan2(x, y);
    case Op2::kMod: return functors::FloorMod(x, y);
    case Op2::kFloorDiv: return functors::FloorDiv(x, y);
  }
  return x;
}

template <typename T>
AMPC_HOST_DEVICE inline bool ComputeBinary(Op2 op, T x, T y, T* out) {
  if constexpr (std::is_integral_v<T>) {
    return ComputeInteger(op, x, y, out);
  } else {
    *out = ComputeFloat(op, x, y);
    return true;
  }
}

}  // namespace ampc
