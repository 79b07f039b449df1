#include "kernels/cuda/norm/layer_norm.h"

#include <cmath>

#include "kernels/cuda/norm/row_statistics.h"
#include "kernels/cuda/reduce/reduce_core.h"

namespace ampc::cuda {
namespace {

template <class T>
struct LayerNormRow {
  LayerNormParams p;
  bool packs, keep;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t r) const {
    const KeptRow<T> x(team, Row<const T>{static_cast<const T*>(p.x) + r * p.size, 1}, p.size, keep);
    const Statistics s = StatisticsOf(team, x, p.size, packs);
    const float inverse = static_cast<float>(1.0 / std::sqrt(s.variance + p.epsilon));
    const Row<T> y{static_cast<T*>(p.y) + r * p.size, 1};
    ForRow<T>(team, p.size, packs, [&](int64_t i, auto width) {
      auto v = x.Again(i, width);
      const auto scale = GetFloats<width.value>(p.scale, i, 1), bias = GetFloats<width.value>(p.bias, i, 0);
      for (int k = 0; k < width.value; ++k) v.v[k] = ((v.v[k] - s.mean) * inverse) * scale.v[k] + bias.v[k];
      y.Set(i, v);
    });
    team.Once([&] {
      if (p.mean.data != nullptr) p.mean.Set(r, s.mean);
      if (p.variance.data != nullptr) p.variance.Set(r, static_cast<float>(s.variance));
    });
  }
};

struct RowStatistics {
  float mean, inverse;
};
// The statistics of a row, kept for the sums over rows, and its dx.
template <class T>
struct GradientRow {
  LayerNormGradientParams p;
  RowStatistics* rows;
  bool packs, keep;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t r) const {
    const int64_t n = p.size;
    const KeptRow<T> x(team, Row<const T>{static_cast<const T*>(p.x) + r * n, 1}, n, keep);
    const bool saved = p.mean.data != nullptr && p.variance.data != nullptr;
    const Statistics s = saved ? Statistics{p.mean.template Get<float>(r), p.variance.GetFloat(r)} : StatisticsOf(team, x, n, packs);
    const double inverse = 1.0 / std::sqrt(s.variance + p.epsilon);
    team.Once([&] { rows[r] = {s.mean, static_cast<float>(inverse)}; });
    if (p.dx == nullptr) return;
    const Row<const T> g{static_cast<const T*>(p.g) + r * n, 1};
    const Sums sums = ReduceRow<T>(
        team, n, packs, Sums{0, 0},
        [&](int64_t i, auto width) {
          const auto gs = g.Get(i, width), xs = saved ? x.First(i, width) : x.Again(i, width),
                     scale = GetFloats<width.value>(p.scale, i, 1);
          float sum = 0, product = 0;
          for (int k = 0; k < width.value; ++k) {
            const float scaled = gs.v[k] * scale.v[k];
            sum += scaled;
            product += scaled * (xs.v[k] - s.mean);
          }
          return Sums{static_cast<double>(sum), static_cast<double>(product)};
        },
        JoinSums());
    const double count = static_cast<double>(n);
    const float a = static_cast<float>(inverse), b = static_cast<float>(-inverse * inverse * inverse * sums.gx / count);
    const float c = static_cast<float>(-inverse * sums.g / count);
    const Row<T> dx{static_cast<T*>(p.dx) + r * n, 1};
    ForRow<T>(team, n, packs, [&](int64_t i, auto width) {
      const auto xs = x.Again(i, width), scale = GetFloats<width.value>(p.scale, i, 1);
      auto v = g.Get(i, width);
      for (int k = 0; k < width.value; ++k) v.v[k] = a * (v.v[k] * scale.v[k]) + (b * (xs.v[k] - s.mean) + c);
      dx.Set(i, v);
    });
  }
};

// Of Scale and Bias: over the rows, per column.
template <class T>
struct ParametersOf {
  using Acc = Sums;
  using Part = FloatSums;
  const T *x, *g;
  const RowStatistics* rows;
  AnyOutput dscale, dbias;

  AMPC_DEVICE Acc Start() const { return {0, 0}; }
  AMPC_DEVICE Part StartPart() const { return {0, 0}; }
  AMPC_DEVICE Acc Widen(Part part) const { return {static_cast<double>(part.g), static_cast<double>(part.gx)}; }
  AMPC_DEVICE Acc Join(Acc a, Acc b) const { return JoinSums()(a, b); }
  template <int w>
  AMPC_DEVICE void Add(Part* part, int64_t offset, int64_t row, int64_t) const {
    const RowStatistics s = rows[row];
    const auto xs = LoadValues<w>(x + offset), gs = LoadValues<w>(g + offset);
    for (int k = 0; k < w; ++k) {
      part[k].g += gs.v[k];
      part[k].gx += gs.v[k] * ((xs.v[k] - s.mean) * s.inverse);
    }
  }
  template <int w>
  AMPC_DEVICE Acc Of(int64_t offset, int64_t row, int64_t) const {  // one column: w rows
    Acc acc = Start();
    for (int k = 0; k < w; ++k) {
      Part part = StartPart();
      Add<1>(&part, offset + k, row + k, 0);
      acc = Join(acc, Widen(part));
    }
    return acc;
  }
  AMPC_DEVICE void Finish(Acc acc, int64_t column) const {
    if (dscale.data != nullptr) dscale.Set(column, acc.gx);
    if (dbias.data != nullptr) dbias.Set(column, acc.g);
  }
};

template <class T>
int Launch(void* stream, const LayerNormParams& p) {
  const int shared = KeptRowBytes<T>(p.size, 1);
  return ForEachRow(stream, p.rows, p.size, false, shared, LayerNormRow<T>{p, PacksFit<T>(p.size, {p.x, p.y}), shared > 0});
}

template <class T>
int LaunchGradient(void* stream, const LayerNormGradientParams& p) {
  RowStatistics* rows = static_cast<RowStatistics*>(p.workspace);
  const int shared = KeptRowBytes<T>(p.size, 1);
  const int rc =
      ForEachRow(stream, p.rows, p.size, false, shared, GradientRow<T>{p, rows, PacksFit<T>(p.size, {p.x, p.g, p.dx}), shared > 0});
  if (rc != 0 || (p.dscale.data == nullptr && p.dbias.data == nullptr)) return rc;
  const T *x = static_cast<const T*>(p.x), *g = static_cast<const T*>(p.g);
  void* parts = static_cast<char*>(p.workspace) + LayerNormGradientBytes(p.rows, {});
  return Reduce<T>(stream, p.columns, ParametersOf<T>{x, g, rows, p.dscale, p.dbias}, PacksOfShape<T>(p.columns, {x, g}), parts);
}

}  // namespace

int LaunchLayerNorm(void* stream, const LayerNormParams& p) {
  return VisitNarrow(p.dtype, [&](auto tag) { return Launch<typename decltype(tag)::Type>(stream, p); });
}

int LaunchLayerNormGradient(void* stream, const LayerNormGradientParams& p) {
  return VisitNarrow(p.dtype, [&](auto tag) { return LaunchGradient<typename decltype(tag)::Type>(stream, p); });
}

}  // namespace ampc::cuda
