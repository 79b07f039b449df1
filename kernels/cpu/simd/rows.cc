#include "kernels/cpu/simd/rows.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

using D16 = hn::CappedTag<float, 16>;
using V16 = hn::Vec<D16>;
constexpr D16 kTag;
constexpr int64_t kWidth = hn::MaxLanes(D16());

// Calls f(offset, load, store) for whole vectors and once for what is left, whose loads give zeros beyond the end.
template <class F>
HWY_INLINE void ForEachVector(int64_t n, F&& f) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    f(
        i, [](const float* p) { return hn::LoadU(kTag, p); }, [](V16 v, float* p) { hn::StoreU(v, kTag, p); });
  }
  if (i == n) return;
  const size_t bytes = static_cast<size_t>(n - i) * sizeof(float);
  f(
      i,
      [bytes](const float* p) {
        HWY_ALIGN float tail[kWidth] = {};
        std::memcpy(tail, p, bytes);
        return hn::Load(kTag, tail);
      },
      [bytes](V16 v, float* p) {
        HWY_ALIGN float tail[kWidth];
        hn::Store(v, kTag, tail);
        std::memcpy(p, tail, bytes);
      });
}

void ExpRowLoop(const float* x, float shift, float* out, int64_t n) {
  const SimdMath<D16> m{};
  const V16 s = m.Set(shift);
  ForEachVector(n, [&](int64_t i, auto load, auto store) { store(m.Exp(load(x + i) - s), out + i); });
}

void ExpColumnsLoop(const float* x, const float* shift, float* out, int64_t n) {
  const SimdMath<D16> m{};
  ForEachVector(n, [&](int64_t i, auto load, auto store) { store(m.Exp(load(x + i) - load(shift + i)), out + i); });
}

// 64 partial sums of runs of 4096, as in the sums of reduce.cc.
double SquaredDistanceLoop(const float* x, float center, int64_t n) {
  constexpr int64_t kLanes = 64, kRun = 4096, kVectors = kLanes / kWidth;
  const V16 c = hn::Set(kTag, center);
  double total = 0;
  for (int64_t first = 0; first < n; first += kRun) {
    const int64_t last = std::min(n, first + kRun);
    V16 acc[kVectors];
    for (V16& a : acc) a = hn::Zero(kTag);
    int64_t i = first;
    for (; i + kLanes <= last; i += kLanes) {
      for (int64_t k = 0; k < kVectors; ++k) {
        const V16 d = hn::LoadU(kTag, x + i + k * kWidth) - c;
        acc[k] = hn::MulAdd(d, d, acc[k]);
      }
    }
    HWY_ALIGN float lanes[kLanes];
    for (int64_t k = 0; k < kVectors; ++k) hn::Store(acc[k], kTag, lanes + k * kWidth);
    for (int64_t k = 0; i < last; ++i, ++k) {
      const float d = x[i] - center;
      lanes[k] += d * d;
    }
    for (int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (int64_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
    }
    total += lanes[0];
  }
  return total;
}

void AffineRowLoop(const float* x, Affine a, float* out, int64_t n) {
  const V16 mean = hn::Set(kTag, a.mean), scale = hn::Set(kTag, a.scale), bias = hn::Set(kTag, a.bias);
  ForEachVector(n, [&](int64_t i, auto load, auto store) { store(hn::MulAdd(load(x + i) - mean, scale, bias), out + i); });
}

void AffineColumnsLoop(const float* x, const float* mean, const float* scale, const float* bias, float* out, int64_t n) {
  ForEachVector(n, [&](int64_t i, auto load, auto store) { store(hn::MulAdd(load(x + i) - load(mean + i), load(scale + i), load(bias + i)), out + i); });
}

void NormalizeRowLoop(const float* x, Affine a, const float* scale, const float* bias, float* out, int64_t n) {
  const V16 mean = hn::Set(kTag, a.mean), inv = hn::Set(kTag, a.scale), zero = hn::Zero(kTag), one = hn::Set(kTag, 1.0f);
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    const V16 s = scale == nullptr ? one : load(scale + i);
    const V16 b = bias == nullptr ? zero : load(bias + i);
    store(hn::MulAdd((load(x + i) - mean) * inv, s, b), out + i);
  });
}

void WindowMaxLoop(const Window& w, float* out, int64_t n) {
  const SimdMath<D16> m{};
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    V16 max = load(w.at + i);
    for (int64_t r = 0; r < w.rows; ++r) {
      const float* at = w.at + r * w.row_stride + i;
      for (int64_t c = 0; c < w.cols; ++c, at += w.col_stride) max = Max::Apply(m, load(at), max);
    }
    store(max, out + i);
  });
}

void WindowSumLoop(const Window& w, float factor, float* out, int64_t n) {
  const V16 f = hn::Set(kTag, factor);
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    V16 total = hn::Zero(kTag);
    for (int64_t r = 0; r < w.rows; ++r) {
      const float* at = w.at + r * w.row_stride + i;
      V16 sum = hn::Zero(kTag);
      for (int64_t c = 0; c < w.cols; ++c, at += w.col_stride) sum = sum + load(at);
      total = total + sum;
    }
    store(total * f, out + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

HWY_EXPORT(ExpRowLoop);
HWY_EXPORT(ExpColumnsLoop);
HWY_EXPORT(SquaredDistanceLoop);
HWY_EXPORT(AffineRowLoop);
HWY_EXPORT(AffineColumnsLoop);
HWY_EXPORT(NormalizeRowLoop);
HWY_EXPORT(WindowMaxLoop);
HWY_EXPORT(WindowSumLoop);

void ExpRow(const float* x, float shift, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(ExpRowLoop)(x, shift, out, n); }
void ExpColumns(const float* x, const float* shift, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(ExpColumnsLoop)(x, shift, out, n); }
double SquaredDistance(const float* x, float center, int64_t n) { return HWY_DYNAMIC_DISPATCH(SquaredDistanceLoop)(x, center, n); }
void AffineRow(const float* x, Affine a, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AffineRowLoop)(x, a, out, n); }
void AffineColumns(const float* x, const float* mean, const float* scale, const float* bias, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(AffineColumnsLoop)(x, mean, scale, bias, out, n);
}
void NormalizeRow(const float* x, Affine a, const float* scale, const float* bias, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(NormalizeRowLoop)(x, a, scale, bias, out, n);
}
void WindowMax(const Window& w, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(WindowMaxLoop)(w, out, n); }
void WindowSum(const Window& w, float factor, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(WindowSumLoop)(w, factor, out, n); }

}  // namespace ampc::simd
#endif
