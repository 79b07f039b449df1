#include <cmath>
#include <limits>

#include "kernels/cuda/reduce/reduce.h"
#include "kernels/cuda/reduce/reduce_core.h"

namespace ampc::cuda {
namespace {

using Kind = VectorNormKind;

template <class T>
struct NormOf {
  using Acc = double;
  using Part = double;
  const T* x;
  AnyOutput out;
  Kind kind;
  double order, start;

  AMPC_DEVICE Acc Start() const { return start; }
  AMPC_DEVICE Part StartPart() const { return start; }
  AMPC_DEVICE Acc Widen(Part part) const { return part; }
  AMPC_DEVICE Acc Join(Acc a, Acc b) const {
    return kind == Kind::kLargest ? Largest()(a, b) : kind == Kind::kSmallest ? Least()(a, b) : a + b;
  }
  AMPC_DEVICE double Map(double v) const {
    switch (kind) {
      case Kind::kCount: return v != 0 ? 1 : 0;
      case Kind::kTwo: return v * v;
      case Kind::kPower: return std::pow(std::fabs(v), order);
      default: return std::fabs(v);
    }
  }
  template <int w>
  AMPC_DEVICE Acc Of(int64_t offset, int64_t, int64_t) const {
    const auto values = LoadValues<w>(x + offset);
    Acc acc = Map(static_cast<double>(values.v[0]));
    for (int k = 1; k < w; ++k) acc = Join(acc, Map(static_cast<double>(values.v[k])));
    return acc;
  }
  template <int w>
  AMPC_DEVICE void Add(Part* part, int64_t offset, int64_t, int64_t) const {
    const auto values = LoadValues<w>(x + offset);
    for (int k = 0; k < w; ++k) part[k] = Join(part[k], Map(static_cast<double>(values.v[k])));
  }
  AMPC_DEVICE void Finish(Acc acc, int64_t result) const {
    out.Set(result, kind == Kind::kTwo ? std::sqrt(acc) : kind == Kind::kPower ? std::pow(acc, 1 / order) : acc);
  }
};

// A largest element and the sum of exp(x - max).
struct Exponentials {
  double max, sum;
};

template <class T>
struct LogSumExpOf {
  using Acc = Exponentials;
  using Part = Exponentials;
  const T* x;
  AnyOutput out;

  AMPC_DEVICE Acc Start() const { return {-std::numeric_limits<double>::infinity(), 0}; }
  AMPC_DEVICE Part StartPart() const { return Start(); }
  AMPC_DEVICE Acc Widen(Part part) const { return part; }
  AMPC_DEVICE Acc Join(Acc a, Acc b) const {
    const double max = Largest()(a.max, b.max);
    if (!(max - max == 0)) return {max, 0};  // not finite: it is the result
    return {max, Scaled(a, max) + Scaled(b, max)};
  }
  template <int w>
  AMPC_DEVICE Acc Of(int64_t offset, int64_t, int64_t) const {
    const auto values = LoadValues<w>(x + offset);
    Acc acc{static_cast<double>(values.v[0]), 1};
    for (int k = 1; k < w; ++k) acc = Join(acc, Acc{static_cast<double>(values.v[k]), 1});
    return acc;
  }
  template <int w>
  AMPC_DEVICE void Add(Part* part, int64_t offset, int64_t, int64_t) const {
    const auto values = LoadValues<w>(x + offset);
    for (int k = 0; k < w; ++k) part[k] = Join(part[k], Acc{static_cast<double>(values.v[k]), 1});
  }
  AMPC_DEVICE void Finish(Acc acc, int64_t result) const {
    out.Set(result, acc.max - acc.max == 0 ? acc.max + std::log(acc.sum) : acc.max);
  }

 private:
  // In the type's own precision; the sum is in double.
  AMPC_DEVICE static double Scaled(Acc a, double max) {
    return a.max == max ? a.sum : a.sum * static_cast<double>(std::exp(static_cast<ComputeType<T>>(a.max - max)));
  }
};

template <class T>
int Launch(void* stream, Kind kind, double order, const ReduceParams& p) {
  const T* x = static_cast<const T*>(p.x.data);
  const bool packs = PacksOfShape<T>(p.shape, {x});
  if (kind == Kind::kLogSumExp) return Reduce<T>(stream, p.shape, LogSumExpOf<T>{x, p.out}, packs, p.workspace);
  const double start = kind == Kind::kSmallest ? std::numeric_limits<double>::infinity() : 0;
  return Reduce<T>(stream, p.shape, NormOf<T>{x, p.out, kind, order, start}, packs, p.workspace);
}

}  // namespace

int LaunchVectorNorm(void* stream, VectorNormKind kind, double order, const ReduceParams& p) {
  return VisitFloat(p.x.dtype, [&](auto tag) { return Launch<typename decltype(tag)::Type>(stream, kind, order, p); });
}

}  // namespace ampc::cuda
