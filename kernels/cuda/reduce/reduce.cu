#include "kernels/cuda/reduce/reduce.h"

#include <limits>

#include "kernels/common/integer.h"
#include "kernels/cuda/reduce/reduce_core.h"

namespace ampc::cuda {
namespace {

// Sums, and means where divisor is the number of elements.
template <class T>
struct SumOf {
  using Acc = double;
  using Part = ComputeType<T>;
  const T* x;
  AnyOutput out;
  double divisor;

  AMPC_DEVICE Acc Start() const { return 0; }
  AMPC_DEVICE Part StartPart() const { return 0; }
  AMPC_DEVICE Acc Widen(Part part) const { return static_cast<Acc>(part); }
  AMPC_DEVICE Acc Join(Acc a, Acc b) const { return a + b; }
  template <int w>
  AMPC_DEVICE Acc Of(int64_t offset, int64_t, int64_t) const {
    const auto values = LoadValues<w>(x + offset);
    Part sum = values.v[0];
    for (int k = 1; k < w; ++k) sum += values.v[k];
    return static_cast<Acc>(sum);
  }
  template <int w>
  AMPC_DEVICE void Add(Part* part, int64_t offset, int64_t, int64_t) const {
    const auto values = LoadValues<w>(x + offset);
    for (int k = 0; k < w; ++k) part[k] += values.v[k];
  }
  AMPC_DEVICE void Finish(Acc acc, int64_t result) const { out.Set(result, acc / divisor); }
};

template <class T, class Combine>
struct ExtremeOf {
  using Acc = ComputeType<T>;
  using Part = Acc;
  const T* x;
  AnyOutput out;
  Acc start;

  AMPC_DEVICE Acc Start() const { return start; }
  AMPC_DEVICE Part StartPart() const { return start; }
  AMPC_DEVICE Acc Widen(Part part) const { return part; }
  AMPC_DEVICE Acc Join(Acc a, Acc b) const { return Combine()(a, b); }
  template <int w>
  AMPC_DEVICE Acc Of(int64_t offset, int64_t, int64_t) const {
    const auto values = LoadValues<w>(x + offset);
    Acc acc = values.v[0];
    for (int k = 1; k < w; ++k) acc = Combine()(acc, values.v[k]);
    return acc;
  }
  template <int w>
  AMPC_DEVICE void Add(Part* part, int64_t offset, int64_t, int64_t) const {
    const auto values = LoadValues<w>(x + offset);
    for (int k = 0; k < w; ++k) part[k] = Combine()(part[k], values.v[k]);
  }
  AMPC_DEVICE void Finish(Acc acc, int64_t result) const { out.Set(result, acc); }
};

// Every reduction of any type, element by element, in double or int64_t.
template <class Number>
struct ReduceAny {
  using Acc = Number;
  using Part = Number;
  static constexpr bool kInteger = std::is_integral_v<Number>;
  Reduction op;
  AnyInput x;
  AnyOutput out;
  int64_t count;
  Number start;

  AMPC_DEVICE Acc Start() const { return start; }
  AMPC_DEVICE Part StartPart() const { return start; }
  AMPC_DEVICE Acc Widen(Part part) const { return part; }
  AMPC_DEVICE Acc Join(Acc a, Acc b) const {
    switch (op) {
      case Reduction::kMax: return Largest()(a, b);
      case Reduction::kMin: return Least()(a, b);
      case Reduction::kAny: return static_cast<Acc>(a != 0 || b != 0);
      case Reduction::kAll: return static_cast<Acc>(a != 0 && b != 0);
      case Reduction::kProd:
        if constexpr (kInteger) return integer::Mul(a, b);
        return a * b;
      default:
        if constexpr (kInteger) return integer::Add(a, b);
        return a + b;
    }
  }
  template <int w>
  AMPC_DEVICE Acc Of(int64_t offset, int64_t, int64_t) const {
    return x.Get<Number>(offset);
  }
  template <int w>
  AMPC_DEVICE void Add(Part* part, int64_t offset, int64_t, int64_t) const {
    *part = Join(*part, x.Get<Number>(offset));
  }
  AMPC_DEVICE void Finish(Acc acc, int64_t result) const {
    if (op == Reduction::kMean) acc = kInteger && count == 0 ? Acc(0) : acc / static_cast<Acc>(count);
    out.Set(result, acc);
  }
};

template <class Number>
Number StartOf(Reduction op) {
  using Limits = std::numeric_limits<Number>;
  switch (op) {
    case Reduction::kMax: return Limits::has_infinity ? -Limits::infinity() : Limits::min();
    case Reduction::kMin: return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case Reduction::kProd:
    case Reduction::kAll: return 1;
    default: return 0;
  }
}

template <class T>
int LaunchTyped(void* stream, Reduction op, const ReduceParams& p) {
  const T* x = static_cast<const T*>(p.x.data);
  const bool packs = PacksOfShape<T>(p.shape, {x});
  const auto run = [&](const auto& source) { return Reduce<T>(stream, p.shape, source, packs, p.workspace); };
  const auto start = StartOf<ComputeType<T>>(op);
  if (op == Reduction::kMax) return run(ExtremeOf<T, Largest>{x, p.out, start});
  if (op == Reduction::kMin) return run(ExtremeOf<T, Least>{x, p.out, start});
  return run(SumOf<T>{x, p.out, op == Reduction::kMean ? static_cast<double>(p.shape.count) : 1.0});
}

template <class Number>
int LaunchAny(void* stream, Reduction op, const ReduceParams& p) {
  return Reduce<Bytes16>(stream, p.shape, ReduceAny<Number>{op, p.x, p.out, p.shape.count, StartOf<Number>(op)}, false, p.workspace);
}

}  // namespace

int LaunchReduce(void* stream, Reduction op, const ReduceParams& p) {
  if (!IsFloat(p.x.dtype)) return LaunchAny<int64_t>(stream, op, p);
  if (op == Reduction::kProd || op == Reduction::kAny || op == Reduction::kAll) return LaunchAny<double>(stream, op, p);
  return VisitFloat(p.x.dtype, [&](auto tag) { return LaunchTyped<typename decltype(tag)::Type>(stream, op, p); });
}

}  // namespace ampc::cuda
