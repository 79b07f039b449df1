#include "runtime/compare/partial_difference.h"

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/compare/partial_difference.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ampc {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Doubles of floats: exponents are far from those of doubles, so that a spacing is always a normal number.
PartialDifference DifferenceLoop(const float* a, const float* b, int64_t n, const Spacing& spacing) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> of_floats;
  const hn::RebindToSigned<decltype(d)> bits;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d);
  const auto least = hn::Set(bits, spacing.format.least_exponent + 1023), highest = hn::Set(bits, spacing.format.mantissa_bits + 2 * 1023);
  auto largest_a = zero, largest_b = zero, dot = zero, aa = zero, bb = zero, sum = zero, max_abs = zero, max_ulp = zero;
  PartialDifference p;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto x = hn::PromoteTo(d, hn::LoadU(of_floats, a + i)), y = hn::PromoteTo(d, hn::LoadU(of_floats, b + i));
    if (!hn::AllTrue(d, hn::And(hn::IsFinite(x), hn::IsFinite(y)))) {
      for (int64_t k = i; k < i + lanes; ++k) p.Add(a[k], b[k], spacing);
      continue;
    }
    p.finite += lanes;
    const auto ax = hn::Abs(x), ay = hn::Abs(y), difference = hn::Abs(hn::Sub(x, y));
    largest_a = hn::Max(largest_a, ax);
    largest_b = hn::Max(largest_b, ay);
    dot = hn::MulAdd(x, y, dot);
    aa = hn::MulAdd(x, x, aa);
    bb = hn::MulAdd(y, y, bb);
    sum = hn::Add(sum, difference);
    max_abs = hn::Max(max_abs, difference);
    // The exponent of the larger one, biased; the factor 2^(mantissa - exponent) as bits.
    const auto exponent = hn::Max(hn::ShiftRight<52>(hn::BitCast(bits, hn::Max(ax, ay))), least);
    const auto factor = hn::BitCast(d, hn::ShiftLeft<52>(hn::Sub(highest, exponent)));
    max_ulp = hn::Max(max_ulp, hn::Mul(difference, factor));
  }
  for (; i < n; ++i) p.Add(a[i], b[i], spacing);
  p.largest_a = std::max(p.largest_a, hn::GetLane(hn::MaxOfLanes(d, largest_a)));
  p.largest_b = std::max(p.largest_b, hn::GetLane(hn::MaxOfLanes(d, largest_b)));
  p.max_abs = std::max(p.max_abs, hn::GetLane(hn::MaxOfLanes(d, max_abs)));
  p.max_ulp = std::max(p.max_ulp, hn::GetLane(hn::MaxOfLanes(d, max_ulp)));
  p.dot += hn::GetLane(hn::SumOfLanes(d, dot));
  p.aa += hn::GetLane(hn::SumOfLanes(d, aa));
  p.bb += hn::GetLane(hn::SumOfLanes(d, bb));
  p.sum += hn::GetLane(hn::SumOfLanes(d, sum));
  return p;
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc {

HWY_EXPORT(DifferenceLoop);

PartialDifference DifferenceOfPart(const float* a, const float* b, int64_t n, const Spacing& spacing) {
  return HWY_DYNAMIC_DISPATCH(DifferenceLoop)(a, b, n, spacing);
}

}  // namespace ampc
#endif
