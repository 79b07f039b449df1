#include <cmath>
#include <limits>

#include "kernels/common/integer.h"
#include "kernels/cuda/elementwise/unary.h"

namespace ampc::cuda {
namespace {

using functors::UnaryOp;

// The ends of an integer type.
struct Limits {
  int64_t least, most;
};

template <class T>
constexpr Limits Of() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

Limits LimitsOf(DType dtype) {
  switch (dtype) {
    case DType::kU8: return Of<uint8_t>();
    case DType::kI8: return Of<int8_t>();
    case DType::kI16: return Of<int16_t>();
    case DType::kI32: return Of<int32_t>();
    default: return Of<int64_t>();
  }
}

AMPC_HOST_DEVICE inline int64_t Clamped(int64_t x, Limits to) { return x < to.least ? to.least : x > to.most ? to.most : x; }

// Products and sums of 64 bits, stored modulo the type's width, are the type's own.
struct Integer {
  UnaryOp op;
  Limits limits;
  int64_t a, b;

  AMPC_HOST_DEVICE int64_t operator()(int64_t x) const {
    switch (op) {
      case UnaryOp::kRelu: return x > 0 ? x : 0;
      case UnaryOp::kAbs: return x < 0 ? integer::Sub(int64_t{0}, x) : x;
      case UnaryOp::kSign: return (x > 0) - (x < 0);
      case UnaryOp::kSquare: return integer::Mul(x, x);
      case UnaryOp::kPowScalar: return a < 0 ? Clamped(integer::Pow(x, a), limits) : integer::Pow(x, a);
      case UnaryOp::kScaleThenBias: return integer::Add(integer::Mul(x, a), b);
      case UnaryOp::kBiasThenScale: return integer::Mul(integer::Add(x, b), a);
      case UnaryOp::kClip: {
        const int64_t y = x < a ? a : x;
        return b < y ? b : y;
      }
      default: return x;
    }
  }
};

struct IntegerSource {
  UnaryOp op;
  Limits limits;
  ScalarSource a, b;
  AMPC_HOST_DEVICE Integer Prepare() const { return {op, limits, Clamped(a.GetInteger(), limits), Clamped(b.GetInteger(), limits)}; }
};

}  // namespace

int LaunchUnaryInteger(void* stream, const UnaryParams& p) {
  return LaunchMap<int64_t, 1>(stream, p.map, IntegerSource{p.functor, LimitsOf(p.map.out.dtype), p.a, p.b});
}

}  // namespace ampc::cuda
