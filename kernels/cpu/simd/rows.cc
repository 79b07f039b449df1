#include "kernels/cpu/simd/rows.h"

#include <algorithm>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/simd/math-inl.h"
#include "kernels/cpu/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

constexpr int64_t kLanes = 64, kVectors = kLanes / kWidth;  // partial results of a run, whatever the width of a vector

// Folds lanes by halves.
template <class R, class D>
HWY_INLINE float FoldLanes([[maybe_unused]] D d, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR  // which has one, and no halves
  if constexpr (hn::MaxLanes(d) > 1) {
    const hn::Half<D> half;
    return FoldLanes<R>(half, R::Apply(SimdMath<hn::Half<D>>{}, hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  return hn::GetLane(v);
}

// Folds 64 lanes by halves.
template <class R>
HWY_INLINE float Fold(V16* acc) {
  const SimdMath<D16> m{};
  for (int64_t half = kVectors / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) acc[k] = R::Apply(m, acc[k], acc[k + half]);
  }
  return FoldLanes<R>(kTag, acc[0]);
}

float MaxOfRow(const float* x, int64_t n) {
  const SimdMath<D16> m{};
  V16 acc[kVectors];
  for (V16& a : acc) a = m.Set(x[0]);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kVectors; ++k) acc[k] = Max::Apply(m, acc[k], hn::LoadU(kTag, x + i + k * kWidth));
  }
  for (; i + kWidth <= n; i += kWidth) acc[0] = Max::Apply(m, acc[0], hn::LoadU(kTag, x + i));
  if (i < n) {
    const V16 last = hn::IfThenElse(hn::FirstN(kTag, static_cast<size_t>(n - i)), LoadTail(x + i, n - i), m.Set(x[0]));
    acc[0] = Max::Apply(m, acc[0], last);
  }
  return Fold<Max>(acc);
}

// out = exp(x - shift); the sum of a run of at most 4096, lane by lane.
float ExpSumOfRun(const float* x, float shift, float* out, int64_t n) {
  const SimdMath<D16> m{};
  const V16 s = m.Set(shift);
  V16 acc[kVectors];
  for (V16& a : acc) a = hn::Zero(kTag);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kVectors; ++k) {
      const V16 e = m.Exp(hn::LoadU(kTag, x + i + k * kWidth) - s);
      hn::StoreU(e, kTag, out + i + k * kWidth);
      acc[k] = acc[k] + e;
    }
  }
  for (int64_t k = 0; i < n; i += kWidth, ++k) {
    const int64_t rest = std::min(kWidth, n - i);
    if (rest == kWidth) {
      const V16 e = m.Exp(hn::LoadU(kTag, x + i) - s);
      hn::StoreU(e, kTag, out + i);
      acc[k] = acc[k] + e;
    } else {
      const V16 e = m.Exp(LoadTail(x + i, rest) - s);
      StoreTail(e, out + i, rest);
      acc[k] = acc[k] + hn::IfThenElseZero(hn::FirstN(kTag, static_cast<size_t>(rest)), e);
    }
  }
  return Fold<Add>(acc);
}

constexpr int64_t kShort = 16;

// A row of at most kShort. The sum, and what it divides, are double: above 1, floats lie twice as far from each other as below it, and the
// sum of a classifier that is sure of its answer is just above 1.
void SoftmaxShortRow(const float* x, float max, float* out, int64_t n) {
  float e[kShort] = {};
  ExpSumOfRun(x, max, e, n);
  double sum[kShort / 2];
  for (int64_t i = 0; i < kShort / 2; ++i) sum[i] = static_cast<double>(e[i]) + e[i + kShort / 2];
  for (int64_t i = 0; i < kShort / 4; ++i) sum[i] += sum[i + kShort / 4];
  for (int64_t i = 0; i < kShort / 8; ++i) sum[i] += sum[i + kShort / 8];
  const double factor = 1.0 / (sum[0] + sum[1]);
  for (float& value : e) value = static_cast<float>(value * factor);
  std::copy_n(e, n, out);
}

// A row of kCount vectors, the last of which has `rest` lanes: they stay in registers.
template <int kCount>
void SoftmaxVectors(const float* x, int64_t rest, float* out) {
  constexpr int64_t kLast = (kCount - 1) * kWidth;
  const SimdMath<D16> m{};
  const auto in_row = hn::FirstN(kTag, static_cast<size_t>(rest));
  V16 v[kCount], acc[kVectors];
  for (int k = 0; k + 1 < kCount; ++k) v[k] = hn::LoadU(kTag, x + k * kWidth);
  v[kCount - 1] = hn::IfThenElse(in_row, LoadTail(x + kLast, rest), v[0]);
  for (int k = 0; k < kVectors; ++k) acc[k] = v[std::min(k, kCount - 1)];
  const V16 max = m.Set(Fold<Max>(acc));
  for (int k = 0; k < kCount; ++k) v[k] = m.Exp(v[k] - max);
  for (int k = 0; k < kVectors; ++k) acc[k] = k + 1 < kCount ? v[k] : hn::Zero(kTag);
  acc[kCount - 1] = hn::IfThenElseZero(in_row, v[kCount - 1]);
  const V16 factor = m.Set(static_cast<float>(1.0 / static_cast<double>(Fold<Add>(acc))));
  for (int k = 0; k + 1 < kCount; ++k) hn::StoreU(v[k] * factor, kTag, out + k * kWidth);
  StoreTail(v[kCount - 1] * factor, out + kLast, rest);
}

// Of more than kShort and at most kLanes numbers; false where a vector is not of kShort.
bool SoftmaxFewVectors(const float* x, float* out, int64_t n) {
  if constexpr (kWidth == kShort && kVectors == 4) {
    if (n <= 2 * kWidth) {
      SoftmaxVectors<2>(x, n - kWidth, out);
    } else if (n <= 3 * kWidth) {
      SoftmaxVectors<3>(x, n - 2 * kWidth, out);
    } else {
      SoftmaxVectors<4>(x, n - 3 * kWidth, out);
    }
    return true;
  }
  return false;
}

void SoftmaxRowLoop(const float* x, float* out, int64_t n) {
  constexpr int64_t kRun = 4096;
  if (n > kShort && n <= kLanes && SoftmaxFewVectors(x, out, n)) return;
  const float max = MaxOfRow(x, n);
  if (n <= kShort) return SoftmaxShortRow(x, max, out, n);
  double sum = 0;
  for (int64_t i = 0; i < n; i += kRun) sum += ExpSumOfRun(x + i, max, out + i, std::min(kRun, n - i));
  const V16 factor = hn::Set(kTag, static_cast<float>(1.0 / sum));
  ForEachVector(n, [&](int64_t i, auto load, auto store) { store(load(out + i) * factor, out + i); });
}

void AddRowLoop(const float* x, float* to, int64_t n) {
  ForEachVector(n, [&](int64_t i, auto load, auto store) { store(load(to + i) + load(x + i), to + i); });
}

void ExpColumnsLoop(const float* x, const float* shift, float* out, int64_t n) {
  const SimdMath<D16> m{};
  ForEachVector(n, [&](int64_t i, auto load, auto store) { store(m.Exp(load(x + i) - load(shift + i)), out + i); });
}

double SquaredDistanceLoop(const float* x, float center, int64_t n) {
  constexpr int64_t kRun = 4096;
  const V16 c = hn::Set(kTag, center);
  double total = 0;
  for (int64_t first = 0; first < n; first += kRun) {
    const int64_t last = std::min(n, first + kRun);
    V16 acc[kVectors];
    for (V16& a : acc) a = hn::Zero(kTag);
    int64_t i = first;
    const auto add = [c](V16 v, V16* a) {
      const V16 d = v - c;
      *a = hn::MulAdd(d, d, *a);
    };
    for (; i + kLanes <= last; i += kLanes) {
      for (int64_t k = 0; k < kVectors; ++k) add(hn::LoadU(kTag, x + i + k * kWidth), &acc[k]);
    }
    for (int64_t k = 0; i < last; i += kWidth, ++k) {
      const int64_t rest = std::min(kWidth, last - i);
      if (rest == kWidth) {
        add(hn::LoadU(kTag, x + i), &acc[k]);
      } else {
        add(hn::IfThenElse(hn::FirstN(kTag, static_cast<size_t>(rest)), LoadTail(x + i, rest), c), &acc[k]);
      }
    }
    total += Fold<Add>(acc);
  }
  return total;
}

void SquaredColumnsLoop(const float* x, int64_t rows, int64_t stride, const float* center, float* out, int64_t n) {
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    const V16 c = load(center + i);
    V16 sum = hn::Zero(kTag);
    for (int64_t r = 0; r < rows; ++r) {
      const V16 d = load(x + r * stride + i) - c;
      sum = hn::MulAdd(d, d, sum);
    }
    store(sum, out + i);
  });
}

void AffineRowLoop(const float* x, Affine a, float* out, int64_t n) {
  const V16 mean = hn::Set(kTag, a.mean), scale = hn::Set(kTag, a.scale), bias = hn::Set(kTag, a.bias);
  ForEachVector(n, [&](int64_t i, auto load, auto store) { store(hn::MulAdd(load(x + i) - mean, scale, bias), out + i); });
}

void AffineColumnsLoop(const float* x, const float* mean, const float* scale, const float* bias, float* out, int64_t n) {
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    store(hn::MulAdd(load(x + i) - load(mean + i), load(scale + i), load(bias + i)), out + i);
  });
}

void NormalizeRowLoop(const float* x, Affine a, const float* scale, const float* bias, float* out, int64_t n) {
  const V16 mean = hn::Set(kTag, a.mean), inv = hn::Set(kTag, a.scale), zero = hn::Zero(kTag), one = hn::Set(kTag, 1.0f);
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    const V16 s = scale == nullptr ? one : load(scale + i);
    const V16 b = bias == nullptr ? zero : load(bias + i);
    store(hn::MulAdd((load(x + i) - mean) * inv, s, b), out + i);
  });
}

void PreluColumnsLoop(const float* x, const float* alpha, float* out, int64_t n) {
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    const V16 v = load(x + i);
    store(hn::IfThenElse(v < hn::Zero(kTag), load(alpha + i) * v, v), out + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

HWY_EXPORT(SoftmaxRowLoop);
HWY_EXPORT(AddRowLoop);
HWY_EXPORT(ExpColumnsLoop);
HWY_EXPORT(SquaredDistanceLoop);
HWY_EXPORT(SquaredColumnsLoop);
HWY_EXPORT(AffineRowLoop);
HWY_EXPORT(AffineColumnsLoop);
HWY_EXPORT(NormalizeRowLoop);
HWY_EXPORT(PreluColumnsLoop);

void AddRow(const float* x, float* to, int64_t n) { HWY_DYNAMIC_DISPATCH(AddRowLoop)(x, to, n); }
void SoftmaxRow(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(SoftmaxRowLoop)(x, out, n); }
void ExpColumns(const float* x, const float* shift, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(ExpColumnsLoop)(x, shift, out, n); }
double SquaredDistance(const float* x, float center, int64_t n) { return HWY_DYNAMIC_DISPATCH(SquaredDistanceLoop)(x, center, n); }
void SquaredColumns(const float* x, int64_t rows, int64_t stride, const float* center, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(SquaredColumnsLoop)(x, rows, stride, center, out, n);
}
void AffineRow(const float* x, Affine a, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AffineRowLoop)(x, a, out, n); }
void AffineColumns(const float* x, const float* mean, const float* scale, const float* bias, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(AffineColumnsLoop)(x, mean, scale, bias, out, n);
}
void NormalizeRow(const float* x, Affine a, const float* scale, const float* bias, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(NormalizeRowLoop)(x, a, scale, bias, out, n);
}
void PreluColumns(const float* x, const float* alpha, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(PreluColumnsLoop)(x, alpha, out, n); }

}  // namespace ampc::simd
#endif
