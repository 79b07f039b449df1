#include "kernels/cuda/softmax/softmax.h"

#include <cmath>

#include "kernels/cuda/launch/kept_row.h"

namespace ampc::cuda {
namespace {

template <class T, bool log>
struct SoftmaxRow {
  using C = ComputeType<T>;
  SoftmaxParams p;
  bool packs, keep;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t r) const {
    const int64_t n = p.rows.size, at = p.rows.First(r);
    const KeptRow<T> x(team, Row<const T>{static_cast<const T*>(p.x) + at, p.rows.inner}, n, keep);
    const C max = LargestOfRow<T>(team, x, n, packs);
    const double sum = ReduceRow<T>(
        team, n, packs, 0.0,
        [&](int64_t i, auto width) {
          auto v = x.Again(i, width);
          C part = 0;
          for (int k = 0; k < width.value; ++k) part += v.v[k] = std::exp(v.v[k] - max);
          if constexpr (!log) x.Keep(i, v);
          return static_cast<double>(part);
        },
        Plus());
    const Row<T> out{static_cast<T*>(p.out) + at, p.rows.inner};
    const C inverse = static_cast<C>(1.0 / sum);
    const double log_sum = log ? std::log(sum) : 0;
    const bool done = x.kept();  // the exponentials are
    ForRow<T>(team, n, packs, [&](int64_t i, auto width) {
      auto v = x.Again(i, width);
      for (int k = 0; k < width.value; ++k) {
        if constexpr (log) {
          v.v[k] = static_cast<C>((static_cast<double>(v.v[k]) - static_cast<double>(max)) - log_sum);
        } else {
          v.v[k] = (done ? v.v[k] : std::exp(v.v[k] - max)) * inverse;
        }
      }
      out.Set(i, v);
    });
  }
};

// Out * (g - sum(g * Out)), or g - exp(Out) * sum(g).
template <class T, bool log>
struct SoftmaxGradientRow {
  using C = ComputeType<T>;
  SoftmaxParams p;
  bool packs, keep;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t r) const {
    const int64_t n = p.rows.size, at = p.rows.First(r);
    const KeptRow<T> y(team, Row<const T>{static_cast<const T*>(p.x) + at, p.rows.inner}, n, keep);
    const KeptRow<T> g(team, Row<const T>{static_cast<const T*>(p.g) + at, p.rows.inner}, n, keep, 1);
    const C sum = static_cast<C>(ReduceRow<T>(
        team, n, packs, 0.0,
        [&](int64_t i, auto width) {
          const auto ys = y.First(i, width), gs = g.First(i, width);
          C part = 0;
          for (int k = 0; k < width.value; ++k) part += log ? gs.v[k] : gs.v[k] * ys.v[k];
          return static_cast<double>(part);
        },
        Plus()));
    const Row<T> out{static_cast<T*>(p.out) + at, p.rows.inner};
    ForRow<T>(team, n, packs, [&](int64_t i, auto width) {
      const auto ys = y.Again(i, width);
      auto v = g.Again(i, width);
      for (int k = 0; k < width.value; ++k) v.v[k] = log ? v.v[k] - std::exp(ys.v[k]) * sum : ys.v[k] * (v.v[k] - sum);
      out.Set(i, v);
    });
  }
};

template <template <class, bool> class RowOf, class T, int kept_rows>
int Launch(void* stream, const SoftmaxParams& p) {
  const bool packs = p.rows.inner == 1 && PacksFit<T>(p.rows.size, {p.x, p.out}) && (kept_rows == 1 || PacksFit<T>(0, {p.g}));
  const int shared = KeptRowBytes<T>(p.rows.size, kept_rows);
  const bool apart = p.rows.inner > 1;
  if (p.log) return ForEachRow(stream, p.rows.rows(), p.rows.size, apart, shared, RowOf<T, true>{p, packs, shared > 0});
  return ForEachRow(stream, p.rows.rows(), p.rows.size, apart, shared, RowOf<T, false>{p, packs, shared > 0});
}

}  // namespace

int LaunchSoftmax(void* stream, const SoftmaxParams& p) {
  return VisitFloat(p.dtype, [&](auto tag) { return Launch<SoftmaxRow, typename decltype(tag)::Type, 1>(stream, p); });
}

int LaunchSoftmaxGradient(void* stream, const SoftmaxParams& p) {
  return VisitFloat(p.dtype, [&](auto tag) { return Launch<SoftmaxGradientRow, typename decltype(tag)::Type, 2>(stream, p); });
}

}  // namespace ampc::cuda
