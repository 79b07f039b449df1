#include "kernels/cuda/reduce/reduce_gradient.h"

#include "kernels/common/gradient_functors.h"
#include "kernels/cuda/reduce/reduce_core.h"

namespace ampc::cuda {
namespace {

AMPC_DEVICE inline int64_t ResultAt(const ResultsOf& at, int64_t i) {
  if (at.outer.rank == 0) return at.y_inner * i;
  return at.outer.OffsetOf(i / at.inner) + i % at.inner * at.y_inner;
}

// w neighbours of X, which lie in one row.
template <class F, class T, int w>
struct GradientOf {
  ReduceGradientParams p;
  bool wide;  // results may be read in packs: they have type T and are neighbours
  functors::Params<ComputeType<T>> params;

  AMPC_DEVICE void operator()(int64_t pack) const {
    using C = ComputeType<T>;
    const int64_t i = pack * w, at = ResultAt(p.at, i);
    const auto x = LoadValues<w>(static_cast<const T*>(p.x) + i);
    Values<C, w> y, g, out;
    if (wide) {
      y = LoadValues<w>(static_cast<const T*>(p.y.data) + at);
      g = LoadValues<w>(static_cast<const T*>(p.g.data) + at);
    } else {
      for (int k = 0; k < w; ++k) {
        y.v[k] = k > 0 && p.at.y_inner == 0 ? y.v[0] : p.y.template Get<C>(at + k);
        g.v[k] = k > 0 && p.at.y_inner == 0 ? g.v[0] : p.g.template Get<C>(at + k);
      }
    }
    for (int k = 0; k < w; ++k) out.v[k] = F::Apply(functors::ScalarMath<C>(), x.v[k], y.v[k], g.v[k], params);
    StoreValues<w>(static_cast<T*>(p.dx) + i, out);
  }
};

template <class F, class T>
int Launch(void* stream, const ReduceGradientParams& p) {
  constexpr int w = kPack<T>;
  const int64_t n = p.at.rows * p.at.inner;
  const functors::Params<ComputeType<T>> params{static_cast<ComputeType<T>>(p.parameter), 0, 0};
  if (!PacksFit<T>(p.at.inner, {p.x, p.dx})) return ForEach(stream, n, GradientOf<F, T, 1>{p, false, params});
  const bool typed = p.y.dtype == p.dtype && p.g.dtype == p.dtype && p.at.y_inner == 1 && PacksFit<T>(0, {p.y.data, p.g.data});
  return ForEach(stream, n / w, GradientOf<F, T, w>{p, typed, params});
}

template <class F>
int LaunchTyped(void* stream, const ReduceGradientParams& p) {
  return VisitFloat(p.dtype, [&](auto tag) { return Launch<F, typename decltype(tag)::Type>(stream, p); });
}

// The product of the elements that are not 0 and how many are; then, in the first, what an element's gradient starts from.
struct Others {
  double product;
  int64_t zeros;
};

template <class T>
struct OthersOf {
  using Acc = Others;
  using Part = Others;
  const T* x;
  AnyInput g;
  Others* out;

  AMPC_DEVICE Acc Start() const { return {1, 0}; }
  AMPC_DEVICE Part StartPart() const { return Start(); }
  AMPC_DEVICE Acc Widen(Part part) const { return part; }
  AMPC_DEVICE Acc Join(Acc a, Acc b) const { return {a.product * b.product, a.zeros + b.zeros}; }
  template <int w>
  AMPC_DEVICE Acc Of(int64_t offset, int64_t, int64_t) const {
    const double v = static_cast<double>(Load(x[offset]));
    return v == 0 ? Acc{1, 1} : Acc{v, 0};
  }
  template <int w>
  AMPC_DEVICE void Add(Part* part, int64_t offset, int64_t i, int64_t result) const {
    *part = Join(*part, Of<1>(offset, i, result));
  }
  AMPC_DEVICE void Finish(Acc acc, int64_t result) const {
    out[result] = {acc.zeros > 1 ? 0 : acc.product * g.Get<double>(result), acc.zeros};
  }
};

template <class T>
struct ProductGradient {
  ResultsOf at;
  const T* x;
  const Others* others;
  T* dx;

  AMPC_DEVICE void operator()(int64_t i) const {
    const Others o = others[ResultAt(at, i)];
    const double v = static_cast<double>(Load(x[i]));
    Store(dx[i], static_cast<ComputeType<T>>(v == 0 ? o.product : o.zeros > 0 ? 0.0 : o.product / v));
  }
};

template <class T>
int LaunchProduct(void* stream, const ReduceShape& shape, const ReduceGradientParams& p, void* workspace) {
  const T* x = static_cast<const T*>(p.x);
  Others* others = static_cast<Others*>(workspace);
  const int rc = Reduce<Bytes16>(stream, shape, OthersOf<T>{x, p.g, others}, false, others + shape.results());
  return rc != 0 ? rc : ForEach(stream, p.at.rows * p.at.inner, ProductGradient<T>{p.at, x, others, static_cast<T*>(p.dx)});
}

}  // namespace

int LaunchReduceGradient(void* stream, ReductionGradient op, const ReduceGradientParams& p) {
  switch (op) {
    case ReductionGradient::kExtreme: return LaunchTyped<functors::ExtremeGrad>(stream, p);
    case ReductionGradient::kLogSumExp: return LaunchTyped<functors::LogSumExpGrad>(stream, p);
    case ReductionGradient::kNormOne: return LaunchTyped<functors::NormOneGrad>(stream, p);
    case ReductionGradient::kNormTwo: return LaunchTyped<functors::NormTwoGrad>(stream, p);
    case ReductionGradient::kNormExtreme: return LaunchTyped<functors::NormExtremeGrad>(stream, p);
    case ReductionGradient::kNormPower: return LaunchTyped<functors::NormPowerGrad>(stream, p);
    default: return LaunchTyped<functors::ScaledGrad>(stream, p);
  }
}

int LaunchReduceProductGradient(void* stream, const ReduceShape& shape, const ReduceGradientParams& p, void* workspace) {
  return VisitFloat(p.dtype, [&](auto tag) { return LaunchProduct<typename decltype(tag)::Type>(stream, shape, p, workspace); });
}

}  // namespace ampc::cuda
