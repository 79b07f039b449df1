#include "kernels/cpu/amp/unscale_loop.h"

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/amp/unscale_loop.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Infinity and NaN are the largest numbers when the bits without the sign are read as an integer.
constexpr int32_t kInfinityBits = 0x7f800000;

template <class D, class V>
HWY_INLINE auto Magnitude(D, V y) {
  const hn::RebindToSigned<D> di;
  return hn::And(hn::BitCast(di, y), hn::Set(di, 0x7fffffff));
}

// f(tag, i) computes, stores and returns the results at i.
template <class F>
HWY_INLINE bool AllResultsFinite(int64_t n, F&& f) {
  const hn::ScalableTag<float> wide;
  const hn::RebindToSigned<decltype(wide)> wide_bits;
  const int64_t width = static_cast<int64_t>(hn::Lanes(wide));
  auto largest = hn::Zero(wide_bits), largest2 = hn::Zero(wide_bits);
  int64_t i = 0;
  for (; i + 2 * width <= n; i += 2 * width) {
    largest = hn::Max(largest, Magnitude(wide, f(wide, i)));
    largest2 = hn::Max(largest2, Magnitude(wide, f(wide, i + width)));
  }
  const hn::CappedTag<float, 1> one;
  int32_t rest = 0;
  for (; i < n; ++i) {
    const int32_t bits = hn::GetLane(Magnitude(one, f(one, i)));
    rest = bits > rest ? bits : rest;
  }
  const auto bad = hn::Gt(hn::Max(largest, largest2), hn::Set(wide_bits, kInfinityBits - 1));
  return rest < kInfinityBits && hn::AllFalse(wide_bits, bad);
}

bool ScaleAndTestLoop(const float* x, float factor, float* out, int64_t n) {
  return AllResultsFinite(n, [=](auto d, int64_t i) {
    const auto y = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor));
    hn::StoreU(y, d, out + i);
    return y;
  });
}

bool AllFiniteLoop(const float* x, int64_t n) {
  return AllResultsFinite(n, [=](auto d, int64_t i) { return hn::LoadU(d, x + i); });
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

HWY_EXPORT(ScaleAndTestLoop);
HWY_EXPORT(AllFiniteLoop);

bool ScaleAndTest(const float* x, float factor, float* out, int64_t n) { return HWY_DYNAMIC_DISPATCH(ScaleAndTestLoop)(x, factor, out, n); }
bool AllFinite(const float* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(AllFiniteLoop)(x, n); }

}  // namespace ampc::simd
#endif
