#include "kernels/cuda/norm/group_norm.h"

#include <cmath>

#include "kernels/cuda/norm/row_statistics.h"
#include "kernels/cuda/reduce/reduce_core.h"

namespace ampc::cuda {
namespace {

struct GroupStatistics {
  float mean, inverse;
};
// Forward: (x - mean) * a + b. Gradient: a * g + (b * (x - mean) + c).
struct alignas(16) Factors {
  float mean, a, b, c;
};

// The layout of the workspace.
struct Scratch {
  GroupStatistics* groups;
  Factors* factors;  // [images, channels]
  Sums* sums;        // [images, channels]
  void* parts;

  explicit Scratch(const GroupNormParams& p) {
    char* at = static_cast<char*>(p.workspace);
    groups = reinterpret_cast<GroupStatistics*>(at);
    at += (p.num_groups() * 8 + 15) / 16 * 16;
    factors = reinterpret_cast<Factors*>(at);
    at += p.num_channels() * 16;
    sums = reinterpret_cast<Sums*>(at);
    parts = at + p.num_channels() * 16;
  }
};

// A sum of floats, in double over runs.
struct SumSource {
  using Acc = double;
  using Part = float;
  AMPC_DEVICE Acc Start() const { return 0; }
  AMPC_DEVICE Part StartPart() const { return 0; }
  AMPC_DEVICE Acc Widen(Part part) const { return static_cast<Acc>(part); }
  AMPC_DEVICE Acc Join(Acc a, Acc b) const { return a + b; }
};

// The means of groups, or, when `squares`, their inverse deviations about the means.
template <class T, bool squares>
struct StatisticOf : SumSource {
  GroupNormParams p;
  GroupStatistics* groups;
  StatisticOf(const GroupNormParams& params, GroupStatistics* out) : p(params), groups(out) {}

  AMPC_DEVICE float Term(float x, int64_t group) const {
    if constexpr (!squares) return x;
    const float d = x - groups[group].mean;
    return d * d;
  }
  template <int w>
  AMPC_DEVICE Acc Of(int64_t offset, int64_t, int64_t group) const {
    const auto v = LoadValues<w>(static_cast<const T*>(p.x) + offset);
    float sum = 0;
    for (int k = 0; k < w; ++k) sum += Term(v.v[k], group);
    return static_cast<Acc>(sum);
  }
  template <int w>
  AMPC_DEVICE void Add(Part* part, int64_t offset, int64_t, int64_t group) const {
    const auto v = LoadValues<w>(static_cast<const T*>(p.x) + offset);
    for (int k = 0; k < w; ++k) part[k] += Term(v.v[k], group + k);
  }
  AMPC_DEVICE void Finish(Acc acc, int64_t group) const {
    const double value = p.count() == 0 ? 0 : acc / static_cast<double>(p.count());
    if constexpr (squares) {
      groups[group].inverse = static_cast<float>(1.0 / std::sqrt(value + p.epsilon));
    } else {
      groups[group].mean = static_cast<float>(value);
    }
    const AnyOutput& out = squares ? p.variance : p.mean;
    if (out.data != nullptr) out.Set(group, squares && p.inverted ? groups[group].inverse : static_cast<float>(value));
  }
};

struct SavedStatistics {
  GroupNormParams p;
  GroupStatistics* groups;
  AMPC_DEVICE void operator()(int64_t i) const {
    const double v = p.saved_variance.GetFloat(i);
    groups[i] = {p.saved_mean.template Get<float>(i), static_cast<float>(p.inverted ? v : 1.0 / std::sqrt(v + p.epsilon))};
  }
};

template <class T>
int FindStatistics(void* stream, const GroupNormParams& p, const Scratch& s) {
  const bool packs = PacksOfShape<T>(p.of_groups, {p.x});
  const int rc = Reduce<T>(stream, p.of_groups, StatisticOf<T, false>(p, s.groups), packs, s.parts);
  return rc != 0 ? rc : Reduce<T>(stream, p.of_groups, StatisticOf<T, true>(p, s.groups), packs, s.parts);
}

struct ForwardFactors {
  GroupNormParams p;
  const GroupStatistics* groups;
  Factors* factors;
  AMPC_DEVICE void operator()(int64_t i) const {
    const int64_t c = i % p.channels;
    const GroupStatistics s = groups[i / p.size()];
    const float scale = p.scale.data == nullptr ? 1 : p.scale.template Get<float>(c);
    factors[i] = {s.mean, s.inverse * scale, p.bias.data == nullptr ? 0 : p.bias.template Get<float>(c), 0};
  }
};

// w neighbours of X.
template <class T, int w, bool gradient>
struct Combine {
  GroupNormParams p;
  const Factors* factors;

  AMPC_DEVICE void operator()(int64_t pack) const {
    const int64_t i = pack * w;
    const int64_t first = p.last ? i / (p.spatial * p.channels) * p.channels + i % p.channels : i / p.spatial, step = p.last ? 1 : 0;
    const auto x = LoadValues<w>(static_cast<const T*>(p.x) + i);
    Values<float, w> out;
    if constexpr (gradient) out = LoadValues<w>(static_cast<const T*>(p.g) + i);
    for (int k = 0; k < w; ++k) {
      const Factors f = factors[first + k * step];
      out.v[k] = gradient ? f.a * out.v[k] + (f.b * (x.v[k] - f.mean) + f.c) : (x.v[k] - f.mean) * f.a + f.b;
    }
    StoreValues<w>(static_cast<T*>(gradient ? p.dx : p.y) + i, out);
  }
};

template <class T, bool gradient>
int LaunchCombine(void* stream, const GroupNormParams& p, const Scratch& s) {
  const int64_t n = p.num_channels() * p.spatial;
  if (!PacksFit<T>(p.last ? p.channels : p.spatial, {p.x, gradient ? p.dx : p.y, gradient ? p.g : nullptr})) {
    return ForEach(stream, n, Combine<T, 1, gradient>{p, s.factors});
  }
  return ForEach(stream, n / kPack<T>, Combine<T, kPack<T>, gradient>{p, s.factors});
}

// A group whose elements lie one after another and fit into a team's memory.
template <class T>
struct GroupRow {
  GroupNormParams p;
  bool packs;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t group) const {
    const int64_t n = p.count(), first = group % p.groups * p.size();
    const KeptRow<T> x(team, Row<const T>{static_cast<const T*>(p.x) + group * n, 1}, n, true);
    const Statistics s = StatisticsOf(team, x, n, packs);
    const float inverse = static_cast<float>(1.0 / std::sqrt(s.variance + p.epsilon));
    const Row<T> y{static_cast<T*>(p.y) + group * n, 1};
    ForRow<T>(team, n, packs, [&](int64_t i, auto width) {
      const int64_t c = first + i / p.spatial;
      const float factor = p.scale.data == nullptr ? inverse : inverse * p.scale.template Get<float>(c);
      const float bias = p.bias.data == nullptr ? 0 : p.bias.template Get<float>(c);
      auto v = x.Again(i, width);
      for (int k = 0; k < width.value; ++k) v.v[k] = (v.v[k] - s.mean) * factor + bias;
      y.Set(i, v);
    });
    team.Once([&] {
      if (p.mean.data != nullptr) p.mean.Set(group, s.mean);
      if (p.variance.data != nullptr) p.variance.Set(group, p.inverted ? inverse : static_cast<float>(s.variance));
    });
  }
};

// The sums of g and g * (x - mean) of a channel in an image.
template <class T>
struct ChannelSums {
  using Acc = Sums;
  using Part = FloatSums;
  const T *x, *g;
  int64_t size;
  const GroupStatistics* groups;
  Sums* sums;

  AMPC_DEVICE Acc Start() const { return {0, 0}; }
  AMPC_DEVICE Part StartPart() const { return {0, 0}; }
  AMPC_DEVICE Acc Widen(Part part) const { return {static_cast<double>(part.g), static_cast<double>(part.gx)}; }
  AMPC_DEVICE Acc Join(Acc a, Acc b) const { return JoinSums()(a, b); }
  template <int w>
  AMPC_DEVICE Acc Of(int64_t offset, int64_t, int64_t channel) const {
    const auto xs = LoadValues<w>(x + offset), gs = LoadValues<w>(g + offset);
    const float mean = groups[channel / size].mean;
    Part part = StartPart();
    for (int k = 0; k < w; ++k) part = {part.g + gs.v[k], part.gx + gs.v[k] * (xs.v[k] - mean)};
    return Widen(part);
  }
  template <int w>
  AMPC_DEVICE void Add(Part* part, int64_t offset, int64_t, int64_t channel) const {
    const auto xs = LoadValues<w>(x + offset), gs = LoadValues<w>(g + offset);
    for (int k = 0; k < w; ++k) {
      const float mean = groups[(channel + k) / size].mean;
      part[k] = {part[k].g + gs.v[k], part[k].gx + gs.v[k] * (xs.v[k] - mean)};
    }
  }
  AMPC_DEVICE void Finish(Acc acc, int64_t channel) const { sums[channel] = acc; }
};

struct ParameterGradients {
  GroupNormParams p;
  const GroupStatistics* groups;
  const Sums* sums;
  AMPC_DEVICE void operator()(int64_t c) const {
    Sums sum{0, 0};
    for (int64_t i = c; i < p.num_channels(); i += p.channels) {
      sum = {sum.g + sums[i].g, sum.gx + sums[i].gx * static_cast<double>(groups[i / p.size()].inverse)};
    }
    if (p.dscale.data != nullptr) p.dscale.Set(c, sum.gx);
    if (p.dbias.data != nullptr) p.dbias.Set(c, sum.g);
  }
};

struct GradientFactors {
  GroupNormParams p;
  const GroupStatistics* groups;
  const Sums* sums;
  Factors* factors;

  AMPC_DEVICE double ScaleOf(int64_t c) const { return p.scale.data == nullptr ? 1 : p.scale.GetFloat(c); }

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t group) const {
    const int64_t first = group * p.size(), channel = group % p.groups * p.size();
    const Sums sum = team.Reduce(
        p.size(), Sums{0, 0},
        [&](int64_t k) {
          const double scale = ScaleOf(channel + k);
          return Sums{scale * sums[first + k].g, scale * sums[first + k].gx};
        },
        JoinSums());
    const double inverse = static_cast<double>(groups[group].inverse), count = static_cast<double>(p.count());
    const float b = static_cast<float>(-inverse * inverse * inverse * sum.gx / count), c = static_cast<float>(-inverse * sum.g / count);
    team.For(p.size(), [&](int64_t k) {
      factors[first + k] = {groups[group].mean, static_cast<float>(inverse * ScaleOf(channel + k)), b, c};
    });
  }
};

template <class T>
int Launch(void* stream, const GroupNormParams& p) {
  const Scratch s(p);
  const int shared = KeptRowBytes<T>(p.count(), 1);
  if (!p.last && shared > 0 && p.count() > 0) {
    return ForEachRow(stream, p.num_groups(), p.count(), false, shared, GroupRow<T>{p, PacksFit<T>(p.spatial, {p.x, p.y})});
  }
  int rc = FindStatistics<T>(stream, p, s);
  if (rc == 0) rc = ForEach(stream, p.count() == 0 ? 0 : p.num_channels(), ForwardFactors{p, s.groups, s.factors});
  return rc != 0 ? rc : LaunchCombine<T, false>(stream, p, s);
}

template <class T>
int LaunchGradient(void* stream, const GroupNormParams& p) {
  const Scratch s(p);
  const T *x = static_cast<const T*>(p.x), *g = static_cast<const T*>(p.g);
  const bool saved = p.saved_mean.data != nullptr && p.saved_variance.data != nullptr;
  int rc = saved ? ForEach(stream, p.num_groups(), SavedStatistics{p, s.groups}) : FindStatistics<T>(stream, p, s);
  if (rc == 0) {
    rc =
        Reduce<T>(stream, p.of_channels, ChannelSums<T>{x, g, p.size(), s.groups, s.sums}, PacksOfShape<T>(p.of_channels, {x, g}), s.parts);
  }
  if (rc == 0 && (p.dscale.data != nullptr || p.dbias.data != nullptr))
    rc = ForEach(stream, p.channels, ParameterGradients{p, s.groups, s.sums});
  if (rc != 0 || p.dx == nullptr || p.count() == 0) return rc;
  rc = ForEachTeam(stream, p.num_groups(), p.size(), GradientFactors{p, s.groups, s.sums, s.factors});
  return rc != 0 ? rc : LaunchCombine<T, true>(stream, p, s);
}

}  // namespace

int LaunchGroupNorm(void* stream, const GroupNormParams& p) {
  return VisitNarrow(p.dtype, [&](auto tag) { return Launch<typename decltype(tag)::Type>(stream, p); });
}

int LaunchGroupNormGradient(void* stream, const GroupNormParams& p) {
  return VisitNarrow(p.dtype, [&](auto tag) { return LaunchGradient<typename decltype(tag)::Type>(stream, p); });
}

}  // namespace ampc::cuda
