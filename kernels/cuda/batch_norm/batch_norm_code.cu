#include "kernels/cuda/batch_norm/batch_norm_code.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "kernels/cuda/base/activate.h"
#include "kernels/cuda/base/visit_single.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

// Elements that one thread moves at a time: 16 bytes where the size of a row is a multiple of that, so that a pack lies in one row.
template <class T, int kPack>
struct alignas(sizeof(T) * kPack) Pack {
  T at[kPack];
};

template <class T>
constexpr int64_t kWide = 16 / static_cast<int64_t>(sizeof(T));

// Two sums over a channel's elements.
struct Sums {
  double a, b;
};
struct AddSums {
  AMPC_HOST_DEVICE Sums operator()(const Sums& x, const Sums& y) const { return {x.a + y.a, x.b + y.b}; }
};

enum Term : int { kMoments, kGradient };  // d and d^2 of d = x - center; g and g * (x - center)

template <int kTerm>
AMPC_HOST_DEVICE inline Sums TermOf(float x, float g, float center) {
  const double d = static_cast<double>(x) - static_cast<double>(center);
  if (kTerm == kMoments) return {d, d * d};
  return {static_cast<double>(g), static_cast<double>(g) * d};
}

// The center of moments: a value of the channel, so that nothing cancels where all are close to each other.
template <class T>
AMPC_HOST_DEVICE inline float CenterOf(const BatchNormShape& s, const T* x, int64_t channel) {
  const float first = s.count() == 0 ? 0.0f : Load(x[channel * s.spatial]);
  return first - first == 0 ? first : 0.0f;  // finite
}

struct Moments {
  float mean, variance;
};

// The variance is that around the rounded mean, as the CPU's.
AMPC_HOST_DEVICE inline Moments MomentsOf(const Sums& sums, float center, int64_t count) {
  if (count == 0) return {0, 0};
  const double n = static_cast<double>(count), mean_d = sums.a / n;
  const float mean = static_cast<float>(static_cast<double>(center) + mean_d);
  const double shift = static_cast<double>(mean) - static_cast<double>(center), variance = sums.b / n - shift * (2 * mean_d - shift);
  return {mean, variance < 0 ? 0.0f : static_cast<float>(variance)};
}

// The sums of a channel are cut into parts, added up in order: many threads, whatever the channels, and the same result each time.
AMPC_HOST_DEVICE inline bool Columns(const BatchNormShape& s) { return s.spatial == 1; }
AMPC_HOST_DEVICE inline int64_t Parts(const BatchNormShape& s) {
  const int64_t least = Columns(s) ? 32 : 4096, threads = Columns(s) ? int64_t{1} << 18 : 2048;
  const int64_t most = threads / (s.channels < 1 ? 1 : s.channels), parts = s.count() / least;
  const int64_t fitting = parts < most ? parts : most;
  return fitting < 1 ? 1 : fitting;
}

struct Scratch {
  Sums* parts;            // [parts, channels]
  float *mean, *inverse;  // per channel
  float *a, *b, *c;       // factors
};

Scratch ScratchIn(const BatchNormShape& s, void* workspace) {
  Sums* const parts = static_cast<Sums*>(workspace);
  float* const floats = reinterpret_cast<float*>(parts + Parts(s) * s.channels);
  return {parts, floats, floats + s.channels, floats + 2 * s.channels, floats + 3 * s.channels, floats + 4 * s.channels};
}

template <int kTerm, class T, int kPack>
AMPC_HOST_DEVICE inline Sums SumOf(const Pack<T, kPack>& x, const Pack<T, kPack>& g, float center) {
  Sums sums{0, 0};
  for (int k = 0; k < kPack; ++k) sums = AddSums()(sums, TermOf<kTerm>(Load(x.at[k]), Load(g.at[k]), center));
  return sums;
}

// One team per channel and part: neighbouring threads read neighbouring packs.
template <class T, int kPack, int kTerm>
struct RowParts {
  BatchNormShape s;
  Scratch to;
  const T *x, *g;
  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t t) const {
    const int64_t parts = Parts(s), channel = t / parts, part = t % parts, count = s.count() / kPack;
    const int64_t first = count * part / parts, last = count * (part + 1) / parts, spatial = s.spatial / kPack, channels = s.channels;
    const auto* const from = reinterpret_cast<const Pack<T, kPack>*>(x);
    const auto* const gradient = reinterpret_cast<const Pack<T, kPack>*>(kTerm == kGradient ? g : x);
    const float center = kTerm == kMoments ? CenterOf(s, x, channel) : to.mean[channel];
    const auto load = [=](int64_t i) {
      const int64_t e = first + i, at = (e / spatial * channels + channel) * spatial + e % spatial;
      return SumOf<kTerm>(from[at], gradient[at], center);
    };
    const Sums sums = team.Reduce(last - first, Sums{0, 0}, load, AddSums());
    Sums* const result = to.parts + part * channels + channel;
    team.Once([=] { *result = sums; });
  }
};

constexpr int kRows = 4;  // whose values are on their way at a time

// One thread per pack of neighbouring channels and part.
template <class T, int kPack, int kTerm>
struct ColumnParts {
  BatchNormShape s;
  Scratch to;
  const T *x, *g;

  AMPC_DEVICE void operator()(int64_t i) const {
    const int64_t packs = s.channels / kPack, part = i / packs, channel = i % packs * kPack, parts = Parts(s);
    const int64_t end = s.count() * (part + 1) / parts;
    Sums sums[kPack];
    float center[kPack];
    for (int k = 0; k < kPack; ++k) {
      sums[k] = {0, 0};
      center[k] = kTerm == kMoments ? CenterOf(s, x, channel + k) : to.mean[channel + k];
    }
    int64_t row = s.count() * part / parts;
    for (; row + kRows <= end; row += kRows) AddRows<kRows>(row, channel, center, sums);
    for (; row < end; ++row) AddRows<1>(row, channel, center, sums);
    for (int k = 0; k < kPack; ++k) to.parts[part * s.channels + channel + k] = sums[k];
  }

  template <int kCount>
  AMPC_HOST_DEVICE void AddRows(int64_t row, int64_t channel, const float* center, Sums* sums) const {
    Pack<T, kPack> v[kCount], w[kCount];
    for (int r = 0; r < kCount; ++r) {
      const int64_t at = (row + r) * s.channels + channel;
      v[r] = *reinterpret_cast<const Pack<T, kPack>*>(x + at);
      w[r] = kTerm == kGradient ? *reinterpret_cast<const Pack<T, kPack>*>(g + at) : v[r];
    }
    for (int r = 0; r < kCount; ++r) {
      for (int k = 0; k < kPack; ++k) sums[k] = AddSums()(sums[k], TermOf<kTerm>(Load(v[r].at[k]), Load(w[r].at[k]), center[k]));
    }
  }
};

template <class T, int kPack, int kTerm>
int SumPacks(void* stream, const BatchNormShape& s, const Scratch& to, const T* x, const T* g) {
  if (Columns(s)) return ForEach(stream, s.channels / kPack * Parts(s), ColumnParts<T, kPack, kTerm>{s, to, x, g});
  return ForEachTeam(stream, s.channels * Parts(s), s.count() / kPack / Parts(s), RowParts<T, kPack, kTerm>{s, to, x, g});
}

template <class T>
bool InPacks(const BatchNormShape& s, std::initializer_list<const void*> pointers) {
  return (Columns(s) ? s.channels : s.spatial) % kWide<T> == 0 && std::all_of(pointers.begin(), pointers.end(), &IsAligned);
}

template <class T, int kTerm>
int SumParts(void* stream, const BatchNormShape& s, const Scratch& to, const T* x, const T* g) {
  return InPacks<T>(s, {x, g}) ? SumPacks<T, kWide<T>, kTerm>(stream, s, to, x, g) : SumPacks<T, 1, kTerm>(stream, s, to, x, g);
}

// finish(channel, sums) for each channel, once.
template <class Finish>
struct AddParts {
  BatchNormShape s;
  const Sums* parts;
  Finish finish;
  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t channel) const {
    const Sums* const from = parts + channel;
    const int64_t channels = s.channels;
    const Sums sums = team.Reduce(
        Parts(s), Sums{0, 0}, [=](int64_t i) { return from[i * channels]; }, AddSums());
    const Finish& f = finish;
    team.Once([&f, channel, sums] { f(channel, sums); });
  }
};

template <class Finish>
int FinishParts(void* stream, const BatchNormShape& s, const Scratch& scratch, Finish finish) {
  return ForEachTeam(stream, s.channels, Parts(s), AddParts<Finish>{s, scratch.parts, finish});
}

AMPC_HOST_DEVICE inline double Inverse(double variance, double epsilon) { return 1.0 / sqrt(variance + epsilon); }

template <class T>
struct KeepMoments {
  BatchNormGradientRun run;
  Scratch to;
  AMPC_HOST_DEVICE void operator()(int64_t c, const Sums& sums) const {
    const Moments m = MomentsOf(sums, CenterOf(run.shape, static_cast<const T*>(run.x), c), run.shape.count());
    to.mean[c] = m.mean;
    to.inverse[c] = static_cast<float>(Inverse(static_cast<double>(m.variance), run.epsilon));
  }
};

// From a channel's mean and variance: the factors, what is saved and the running statistics.
struct FinishForward {
  BatchNormRun run;
  Scratch to;
  AMPC_HOST_DEVICE void Set(int64_t c, float mean, float variance) const {
    const double inverse = Inverse(static_cast<double>(variance), run.epsilon);
    const float keep = run.momentum.data == nullptr ? run.keep : static_cast<float>(run.momentum.Get(0));
    const float mean_before = static_cast<float>(run.mean.Get(c)), variance_before = static_cast<float>(run.variance.Get(c));
    to.mean[c] = mean;
    to.a[c] = static_cast<float>(inverse * run.scale.Get(c));
    to.b[c] = static_cast<float>(run.bias.Get(c));
    run.saved_mean.Set(c, mean);
    run.saved_inverse.Set(c, static_cast<float>(inverse));
    run.mean_out.Set(c, run.training ? mean_before * keep + mean * (1 - keep) : mean_before);
    run.variance_out.Set(c, run.training ? variance_before * keep + variance * (1 - keep) : variance_before);
  }
};

template <class T>
struct FinishMoments {
  FinishForward finish;
  AMPC_HOST_DEVICE void operator()(int64_t c, const Sums& sums) const {
    const BatchNormShape& s = finish.run.shape;
    const Moments m = MomentsOf(sums, CenterOf(s, static_cast<const T*>(finish.run.x), c), s.count());
    finish.Set(c, m.mean, m.variance);
  }
};

struct FinishGiven {
  FinishForward finish;
  AMPC_DEVICE void operator()(int64_t c) const {
    finish.Set(c, static_cast<float>(finish.run.mean.Get(c)), static_cast<float>(finish.run.variance.Get(c)));
  }
};

AMPC_HOST_DEVICE inline int64_t ChannelOf(const BatchNormShape& s, int64_t i) { return i / s.spatial % s.channels; }

// y = activation(a * (x - mean) + b)
template <class T, int kPack>
struct Apply {
  BatchNormShape s;
  Scratch by;
  Activation activation;
  const T* x;
  T* y;
  AMPC_DEVICE void operator()(int64_t i) const {
    Pack<T, kPack> v = reinterpret_cast<const Pack<T, kPack>*>(x)[i];
    int64_t c = ChannelOf(s, i * kPack);
    for (int k = 0; k < kPack; ++k) {
      Store(v.at[k], Activate(activation, fmaf(Load(v.at[k]) - by.mean[c], by.a[c], by.b[c])));
      if (Columns(s)) ++c;
    }
    reinterpret_cast<Pack<T, kPack>*>(y)[i] = v;
  }
};

// to = a * g + (b * (x - mean) + c)
template <class T, int kPack>
struct Combine {
  BatchNormShape s;
  Scratch by;
  const T *x, *g;
  T* to;
  AMPC_DEVICE void operator()(int64_t i) const {
    const Pack<T, kPack> v = reinterpret_cast<const Pack<T, kPack>*>(x)[i];
    Pack<T, kPack> w = reinterpret_cast<const Pack<T, kPack>*>(g)[i];
    int64_t c = ChannelOf(s, i * kPack);
    for (int k = 0; k < kPack; ++k) {
      Store(w.at[k], fmaf(by.a[c], Load(w.at[k]), fmaf(by.b[c], Load(v.at[k]) - by.mean[c], by.c[c])));
      if (Columns(s)) ++c;
    }
    reinterpret_cast<Pack<T, kPack>*>(to)[i] = w;
  }
};

template <class T>
int RunForward(void* stream, const BatchNormRun& run) {
  const BatchNormShape& s = run.shape;
  const Scratch scratch = ScratchIn(s, run.workspace);
  const T* const x = static_cast<const T*>(run.x);
  const FinishForward finish{run, scratch};
  int code = 0;
  if (run.training) {
    code = SumParts<T, kMoments>(stream, s, scratch, x, nullptr);
    if (code == 0) code = FinishParts(stream, s, scratch, FinishMoments<T>{finish});
  } else {
    code = ForEach(stream, s.channels, FinishGiven{finish});
  }
  if (code != 0) return code;
  const int64_t total = s.count() * s.channels;
  T* const y = static_cast<T*>(run.y);
  if (InPacks<T>(s, {x, y})) return ForEach(stream, total / kWide<T>, Apply<T, kWide<T>>{s, scratch, run.activation, x, y});
  return ForEach(stream, total, Apply<T, 1>{s, scratch, run.activation, x, y});
}

struct ReadStatistics {
  BatchNormGradientRun run;
  Scratch to;
  AMPC_DEVICE void operator()(int64_t c) const {
    to.mean[c] = static_cast<float>(run.mean.Get(c));
    const double v = run.variance.Get(c);
    to.inverse[c] = static_cast<float>(run.variance_inverted ? v : Inverse(v, run.epsilon));
  }
};

// With A = sum(g) and B = sum(g * (x - mean)): the gradients of the parameters, and the factors of Combine.
struct FinishGradient {
  BatchNormGradientRun run;
  Scratch to;
  AMPC_HOST_DEVICE void operator()(int64_t c, const Sums& sums) const {
    const double inverse = static_cast<double>(to.inverse[c]), scale = run.scale.data == nullptr ? 1.0 : run.scale.Get(c);
    const double count = static_cast<double>(run.shape.count());
    run.to_scale.Set(c, static_cast<float>(sums.b * inverse));
    run.to_bias.Set(c, static_cast<float>(sums.a));
    to.a[c] = static_cast<float>(inverse * scale);
    to.b[c] = run.given ? 0.0f : static_cast<float>(-inverse * inverse * inverse * scale * sums.b / count);
    to.c[c] = run.given ? 0.0f : static_cast<float>(-inverse * scale * sums.a / count);
  }
};

template <class T>
int RunGradient(void* stream, const BatchNormGradientRun& run) {
  const BatchNormShape& s = run.shape;
  const Scratch scratch = ScratchIn(s, run.workspace);
  const T *const x = static_cast<const T*>(run.x), *const g = static_cast<const T*>(run.gradient);
  int code = 0;
  if (run.mean.data != nullptr) {
    code = ForEach(stream, s.channels, ReadStatistics{run, scratch});
  } else {
    code = SumParts<T, kMoments>(stream, s, scratch, x, nullptr);
    if (code == 0) code = FinishParts(stream, s, scratch, KeepMoments<T>{run, scratch});
  }
  if (code == 0) code = SumParts<T, kGradient>(stream, s, scratch, x, g);
  if (code == 0) code = FinishParts(stream, s, scratch, FinishGradient{run, scratch});
  if (code != 0 || run.to == nullptr) return code;
  const int64_t total = s.count() * s.channels;
  T* const to = static_cast<T*>(run.to);
  if (InPacks<T>(s, {x, g, to})) return ForEach(stream, total / kWide<T>, Combine<T, kWide<T>>{s, scratch, x, g, to});
  return ForEach(stream, total, Combine<T, 1>{s, scratch, x, g, to});
}

}  // namespace

int64_t BatchNormWorkspace(const BatchNormShape& s) {
  return Parts(s) * s.channels * static_cast<int64_t>(sizeof(Sums)) + 5 * s.channels * static_cast<int64_t>(sizeof(float));
}

int LaunchBatchNorm(void* stream, const BatchNormRun& run) {
  return VisitSingle(run.shape.type, [&](auto t) { return RunForward<typename decltype(t)::Type>(stream, run); });
}

int LaunchBatchNormGradient(void* stream, const BatchNormGradientRun& run) {
  return VisitSingle(run.shape.type, [&](auto t) { return RunGradient<typename decltype(t)::Type>(stream, run); });
}

}  // namespace ampc::cuda
