#include "kernels/cpu/simd/reduce.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/reduce.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

struct SumOf {
  static constexpr float kStart = 0;
  template <class M, class V>
  static HWY_INLINE V Apply(M, V a, V b) {
    return a + b;
  }
};

struct MaxOf {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  template <class M, class V>
  static HWY_INLINE V Apply(M m, V a, V b) {
    return Max::Apply(m, a, b);
  }
};

struct MinOf {
  static constexpr float kStart = std::numeric_limits<float>::infinity();
  template <class M, class V>
  static HWY_INLINE V Apply(M m, V a, V b) {
    return Min::Apply(m, a, b);
  }
};

constexpr int kLanes = 64;  // partial results of a run, whatever the width of a vector

using RunTag = hn::CappedTag<float, 16>;
constexpr int kWidth = hn::MaxLanes(RunTag());
constexpr int kVectors = kLanes / kWidth;

// Combines the lower and upper halves of `x`, which has 2 * half elements, in vectors: branches on values would be guessed wrong.
template <class R, int half>
HWY_INLINE void Halve(float* x) {
  const SimdMath<hn::CappedTag<float, half>> m{};
  constexpr int kStep = hn::MaxLanes(hn::CappedTag<float, half>());
  for (int k = 0; k < half; k += kStep) hn::Store(R::Apply(m, hn::Load(m.d, x + k), hn::LoadU(m.d, x + k + half)), m.d, x + k);
}

// The lanes of the last vector.
template <class R>
HWY_INLINE float Finish(hn::Vec<RunTag> acc) {
  HWY_ALIGN float rest[16];
  hn::Store(acc, RunTag(), rest);
  if constexpr (kWidth > 8) Halve<R, 8>(rest);
  if constexpr (kWidth > 4) Halve<R, 4>(rest);
  if constexpr (kWidth > 2) Halve<R, 2>(rest);
  if constexpr (kWidth > 1) Halve<R, 1>(rest);
  return rest[0];
}

// A run shorter than the partial results: those that would keep the start value, which changes nothing, are left out.
template <class R>
float ShortRun(const float* x, int64_t n) {
  const SimdMath<RunTag> m{};
  HWY_ALIGN float padded[kLanes];
  const int used = static_cast<int>((n + kWidth - 1) / kWidth);
  if (used == 0) return R::kStart;
  hn::Store(m.Set(R::kStart), m.d, padded + (used - 1) * kWidth);
  std::memcpy(padded, x, n * sizeof(float));
  int count = kVectors;
  for (int left = used; count > 1; count /= 2) {
    const int half = count / 2;
    for (int k = 0; k + half < left; ++k) {
      hn::Store(R::Apply(m, hn::Load(m.d, padded + k * kWidth), hn::Load(m.d, padded + (k + half) * kWidth)), m.d, padded + k * kWidth);
    }
    left = left < half ? left : half;
  }
  return Finish<R>(R::Apply(m, m.Set(R::kStart), hn::Load(m.d, padded)));
}

// 64 partial results, then halved until one is left.
template <class R>
float Run(const float* x, int64_t n) {
  if (n < kLanes) return ShortRun<R>(x, n);
  const SimdMath<RunTag> m{};
  hn::Vec<RunTag> acc[kVectors];
  for (auto& a : acc) a = m.Set(R::kStart);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kVectors; ++k) acc[k] = R::Apply(m, acc[k], hn::LoadU(m.d, x + i + k * kWidth));
  }
  if (i < n) {
    HWY_ALIGN float rest[kLanes];
    std::fill(rest, rest + kLanes, R::kStart);
    std::memcpy(rest, x + i, (n - i) * sizeof(float));
    for (int k = 0; k < kVectors; ++k) acc[k] = R::Apply(m, acc[k], hn::Load(m.d, rest + k * kWidth));
  }
  for (int half = kVectors / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) acc[k] = R::Apply(m, acc[k], acc[k + half]);
  }
  return Finish<R>(acc[0]);
}

template <class R>
void Columns(const float* x, int64_t rows, int64_t stride, int64_t columns, float* out) {
  const SimdMath<hn::CappedTag<float, 16>> m{};
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(m.d));
  int64_t c = 0;
  for (; c + lanes <= columns; c += lanes) {
    auto acc = m.Set(R::kStart);
    for (int64_t r = 0; r < rows; ++r) acc = R::Apply(m, acc, hn::LoadU(m.d, x + r * stride + c));
    hn::StoreU(acc, m.d, out + c);
  }
  for (; c < columns; ++c) {
    float acc = R::kStart;
    for (int64_t r = 0; r < rows; ++r) acc = R::Apply(functors::ScalarMath<float>{}, acc, x[r * stride + c]);
    out[c] = acc;
  }
}

ReduceRunFn FindRun(ReduceOp op) { return op == ReduceOp::kSum ? &Run<SumOf> : op == ReduceOp::kMax ? &Run<MaxOf> : &Run<MinOf>; }

ReduceColumnsFn FindColumns(ReduceOp op) {
  return op == ReduceOp::kSum ? &Columns<SumOf> : op == ReduceOp::kMax ? &Columns<MaxOf> : &Columns<MinOf>;
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

HWY_EXPORT(FindRun);
HWY_EXPORT(FindColumns);

ReduceRunFn ReduceRun(ReduceOp op) { return HWY_DYNAMIC_DISPATCH(FindRun)(op); }
ReduceColumnsFn ReduceColumns(ReduceOp op) { return HWY_DYNAMIC_DISPATCH(FindColumns)(op); }

double SumRow(const float* x, int64_t n) {
  const ReduceRunFn run = ReduceRun(ReduceOp::kSum);
  double sum = 0;
  for (int64_t i = 0; i < n; i += kReduceRun) sum += run(x + i, std::min(kReduceRun, n - i));
  return sum;
}

float MaxRow(const float* x, int64_t n) {
  const ReduceRunFn run = ReduceRun(ReduceOp::kMax);
  float max = run(x, std::min(kReduceRun, n));
  for (int64_t i = kReduceRun; i < n; i += kReduceRun) {
    max = functors::Max::Apply(functors::ScalarMath<float>{}, max, run(x + i, std::min(kReduceRun, n - i)));
  }
  return max;
}

}  // namespace ampc::simd
#endif
