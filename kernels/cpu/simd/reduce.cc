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

// 64 partial results, then halved until one is left.
template <class R>
float Run(const float* x, int64_t n) {
  const SimdMath<hn::CappedTag<float, 16>> m{};
  using V = hn::Vec<hn::CappedTag<float, 16>>;
  constexpr int kWidth = hn::MaxLanes(hn::CappedTag<float, 16>());
  constexpr int kVectors = kLanes / kWidth;
  V acc[kVectors];
  for (V& a : acc) a = m.Set(R::kStart);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kVectors; ++k) acc[k] = R::Apply(m, acc[k], hn::LoadU(m.d, x + i + k * kWidth));
  }
  HWY_ALIGN float rest[kLanes];
  if (i < n) {
    std::fill(rest, rest + kLanes, R::kStart);
    std::memcpy(rest, x + i, (n - i) * sizeof(float));
    for (int k = 0; k < kVectors; ++k) acc[k] = R::Apply(m, acc[k], hn::Load(m.d, rest + k * kWidth));
  }
  for (int half = kVectors / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) acc[k] = R::Apply(m, acc[k], acc[k + half]);
  }
  hn::Store(acc[0], m.d, rest);
  for (int half = kWidth / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) rest[k] = R::Apply(functors::ScalarMath<float>{}, rest[k], rest[k + half]);
  }
  return rest[0];
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
