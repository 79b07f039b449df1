#include "kernels/cpu/simd/gradient_rows.h"

#include <algorithm>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/gradient_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/simd/math-inl.h"
#include "kernels/cpu/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

constexpr int64_t kRun = 4096;  // that float accumulators take
constexpr int64_t kLanes = 32, kVectors = kLanes / kWidth;

// The sum of the partial results by halves.
HWY_INLINE double Total(V16* acc) {
  for (int64_t half = kVectors / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) acc[k] = acc[k] + acc[k + half];
  }
  HWY_ALIGN float lanes[kWidth];
  hn::Store(acc[0], kTag, lanes);
  for (int64_t half = kWidth / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  }
  return lanes[0];
}

// Calls f(offset, k, load) over a run: vector k % kVectors of the partial results takes what lies at `offset`. Loads give zeros beyond.
template <class F>
HWY_INLINE void ForRun(int64_t n, F&& f) {
  const auto whole = [](const float* p) { return hn::LoadU(kTag, p); };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kVectors; ++k) f(i + k * kWidth, k, whole);
  }
  for (int64_t k = 0; i < n; i += kWidth, ++k) {
    const int64_t rest = std::min(kWidth, n - i);
    if (rest == kWidth) {
      f(i, k, whole);
    } else {
      f(i, k, [rest](const float* p) { return LoadTail(p, rest); });
    }
  }
}

template <bool scaled>
ProductSums SumRun(const float* x, V16 center, const float* g, const float* scale, int64_t n) {
  V16 sum_g[kVectors], sum_gx[kVectors];
  for (int64_t k = 0; k < kVectors; ++k) sum_g[k] = sum_gx[k] = hn::Zero(kTag);
  ForRun(n, [&](int64_t i, int64_t k, auto load) {
    V16 v = load(g + i);
    if (scaled) v = v * load(scale + i);
    sum_g[k] = sum_g[k] + v;
    sum_gx[k] = hn::MulAdd(v, load(x + i) - center, sum_gx[k]);
  });
  return {Total(sum_g), Total(sum_gx)};
}

ProductSums SumProductsLoop(const float* x, float center, const float* g, const float* scale, int64_t n) {
  const V16 c = hn::Set(kTag, center);
  ProductSums total;
  for (int64_t i = 0; i < n; i += kRun) {
    const int64_t run = std::min(kRun, n - i);
    const ProductSums part =
        scale == nullptr ? SumRun<false>(x + i, c, g + i, nullptr, run) : SumRun<true>(x + i, c, g + i, scale + i, run);
    total.g += part.g;
    total.gx += part.gx;
  }
  return total;
}

ProductSums AddProductsRun(const float* x, float mean, float factor, const float* g, const float* scale, float* sum_gx, float* sum_g,
                           int64_t n) {
  const V16 m = hn::Set(kTag, mean), f = hn::Set(kTag, factor);
  V16 all_g[kVectors], all_gx[kVectors];
  for (int64_t k = 0; k < kVectors; ++k) all_g[k] = all_gx[k] = hn::Zero(kTag);
  ForRun(n, [&](int64_t i, int64_t k, auto load) {
    const V16 v = load(g + i), d = load(x + i) - m;
    const V16 scaled = scale == nullptr ? v : v * load(scale + i);
    const auto add = [&](V16 term, float* sum) {
      if (n - i >= kWidth) {
        hn::StoreU(hn::LoadU(kTag, sum + i) + term, kTag, sum + i);
      } else {
        StoreTail(LoadTail(sum + i, n - i) + term, sum + i, n - i);
      }
    };
    if (sum_gx != nullptr) add(v * (d * f), sum_gx);
    if (sum_g != nullptr) add(v, sum_g);
    all_g[k] = all_g[k] + scaled;
    all_gx[k] = hn::MulAdd(scaled, d, all_gx[k]);
  });
  return {Total(all_g), Total(all_gx)};
}

ProductSums AddProductsLoop(const float* x, float mean, float factor, const float* g, const float* scale, float* sum_gx, float* sum_g,
                            int64_t n) {
  ProductSums total;
  const auto at = [](auto* p, int64_t i) { return p == nullptr ? nullptr : p + i; };
  for (int64_t i = 0; i < n; i += kRun) {
    const ProductSums part = AddProductsRun(x + i, mean, factor, g + i, at(scale, i), at(sum_gx, i), at(sum_g, i), std::min(kRun, n - i));
    total.g += part.g;
    total.gx += part.gx;
  }
  return total;
}

void SumColumnProductsLoop(const float* x, const float* center, const float* g, int64_t rows, int64_t stride, float* sum_g, float* sum_gx,
                           int64_t n) {
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    const V16 c = center == nullptr ? hn::Zero(kTag) : load(center + i);
    V16 a = hn::Zero(kTag), b = hn::Zero(kTag);
    for (int64_t r = 0; r < rows; ++r) {
      const V16 v = load(g + r * stride + i);
      a = a + v;
      b = hn::MulAdd(v, load(x + r * stride + i) - c, b);
    }
    store(a, sum_g + i);
    store(b, sum_gx + i);
  });
}

void CombineRowLoop(const float* x, const float* g, const float* scale, Combination with, float* out, int64_t n) {
  const V16 mean = hn::Set(kTag, with.mean), a = hn::Set(kTag, with.a), b = hn::Set(kTag, with.b), c = hn::Set(kTag, with.c);
  if (scale == nullptr) {
    ForEachVector(
        n, [&](int64_t i, auto load, auto store) { store(hn::MulAdd(a, load(g + i), hn::MulAdd(b, load(x + i) - mean, c)), out + i); });
    return;
  }
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    store(hn::MulAdd(a, load(g + i) * load(scale + i), hn::MulAdd(b, load(x + i) - mean, c)), out + i);
  });
}

void CombineColumnsLoop(const float* x, const float* g, CombinationColumns with, float* out, int64_t n) {
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    const V16 rest = hn::MulAdd(load(with.b + i), load(x + i) - load(with.mean + i), load(with.c + i));
    store(hn::MulAdd(load(with.a + i), load(g + i), rest), out + i);
  });
}

void SoftmaxGradientLoop(const float* y, const float* g, float* out, int64_t n) {
  const V16 sum = hn::Set(kTag, static_cast<float>(SumProductsLoop(y, 0, g, nullptr, n).gx));
  ForEachVector(n, [&](int64_t i, auto load, auto store) { store(load(y + i) * (load(g + i) - sum), out + i); });
}

void LogSoftmaxGradientLoop(const float* y, const float* g, float* out, int64_t n) {
  const SimdMath<D16> m{};
  const V16 sum = hn::Set(kTag, static_cast<float>(SumProductsLoop(y, 0, g, nullptr, n).g));
  ForEachVector(n, [&](int64_t i, auto load, auto store) { store(hn::NegMulAdd(m.Exp(load(y + i)), sum, load(g + i)), out + i); });
}

void ScaleRowLoop(const float* x, float factor, float* out, int64_t n) {
  const V16 f = hn::Set(kTag, factor);
  ForEachVector(n, [&](int64_t i, auto load, auto store) { store(load(x + i) * f, out + i); });
}

void MaskRowLoop(const float* x, const uint8_t* mask, bool inverse, float factor, float* out, int64_t n) {
  const hn::Rebind<uint8_t, D16> bytes;
  const hn::RebindToSigned<D16> words;
  const V16 f = hn::Set(kTag, factor);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const auto zero = hn::RebindMask(kTag, hn::Eq(hn::PromoteTo(words, hn::LoadU(bytes, mask + i)), hn::Zero(words)));
    const V16 v = hn::LoadU(kTag, x + i) * f;
    hn::StoreU(inverse ? hn::IfThenElseZero(zero, v) : hn::IfThenZeroElse(zero, v), kTag, out + i);
  }
  for (; i < n; ++i) out[i] = (mask[i] == 0) == inverse ? x[i] * factor : 0.0f;
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

HWY_EXPORT(SumProductsLoop);
HWY_EXPORT(SumColumnProductsLoop);
HWY_EXPORT(CombineRowLoop);
HWY_EXPORT(CombineColumnsLoop);
HWY_EXPORT(AddProductsLoop);
HWY_EXPORT(SoftmaxGradientLoop);
HWY_EXPORT(LogSoftmaxGradientLoop);
HWY_EXPORT(ScaleRowLoop);
HWY_EXPORT(MaskRowLoop);

ProductSums SumProducts(const float* x, float center, const float* g, const float* scale, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(SumProductsLoop)(x, center, g, scale, n);
}
void SumColumnProducts(const float* x, const float* center, const float* g, int64_t rows, int64_t stride, float* sum_g, float* sum_gx,
                       int64_t n) {
  HWY_DYNAMIC_DISPATCH(SumColumnProductsLoop)(x, center, g, rows, stride, sum_g, sum_gx, n);
}
void CombineRow(const float* x, const float* g, const float* scale, Combination with, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(CombineRowLoop)(x, g, scale, with, out, n);
}
void CombineColumns(const float* x, const float* g, CombinationColumns with, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(CombineColumnsLoop)(x, g, with, out, n);
}
ProductSums AddProducts(const float* x, float mean, float factor, const float* g, const float* scale, float* sum_gx, float* sum_g,
                        int64_t n) {
  return HWY_DYNAMIC_DISPATCH(AddProductsLoop)(x, mean, factor, g, scale, sum_gx, sum_g, n);
}
void SoftmaxGradient(const float* y, const float* g, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(SoftmaxGradientLoop)(y, g, out, n); }
void LogSoftmaxGradient(const float* y, const float* g, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(LogSoftmaxGradientLoop)(y, g, out, n);
}
void ScaleRow(const float* x, float factor, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(ScaleRowLoop)(x, factor, out, n); }
void MaskRow(const float* x, const uint8_t* mask, bool inverse, float factor, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(MaskRowLoop)(x, mask, inverse, factor, out, n);
}

}  // namespace ampc::simd
#endif
