// SimdMath<D>: the policy of kernels/common/functors.inc for vectors of float. Compiled once per instruction set.
// Each function is right at zeros, subnormals, infinities and NaN and within 2 units in the last place elsewhere (Phi: 5 for x < -0.8
// while its result is normal; Pow and the trigonometric functions are the C library's).
#include <limits>
#include <type_traits>

#if defined(KERNELS_CPU_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_CPU_SIMD_MATH_INL_H_
#undef KERNELS_CPU_SIMD_MATH_INL_H_
#else
#define KERNELS_CPU_SIMD_MATH_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/common/functors.h"
#include "kernels/cpu/simd/library_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using functors::Params;

template <class D>
struct SimdMath : LibraryMath<D> {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;
  using LibraryMath<D>::d;

  HWY_INLINE V Set(T v) const { return hn::Set(d, v); }
  HWY_INLINE V Select(M mask, V yes, V no) const { return hn::IfThenElse(mask, yes, no); }
  HWY_INLINE M Or(M a, M b) const { return hn::Or(a, b); }
  HWY_INLINE M IsNaN(V v) const { return hn::IsNaN(v); }
  HWY_INLINE V Sqrt(V v) const { return hn::Sqrt(v); }
  HWY_INLINE V Abs(V v) const { return hn::Abs(v); }
  HWY_INLINE V CopySign(V magnitude, V sign) const { return hn::CopySign(magnitude, sign); }
  // Highway's portable code loses the sign of a zero.
  HWY_INLINE V Floor(V v) const { return hn::CopySign(hn::Floor(v), v); }
  HWY_INLINE V Ceil(V v) const { return hn::CopySign(hn::Ceil(v), v); }
  HWY_INLINE V Trunc(V v) const { return hn::CopySign(hn::Trunc(v), v); }

  // c0 + c1 x + c2 x^2 + ...
  HWY_INLINE V Poly(V, T c0) const { return Set(c0); }
  template <class... C>
  HWY_INLINE V Poly(V x, T c0, C... rest) const {
    return hn::MulAdd(Poly(x, static_cast<T>(rest)...), x, Set(c0));
  }

  // 2^n e^r with r in [-ln2/2, ln2/2]; 2^n is applied in two steps, or by an instruction, so that subnormal results round once.
  HWY_INLINE V Exp(V x) const {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    if constexpr (std::is_same_v<V, hn::Vec512<float>>) {
      const V clamped{_mm512_max_ps(Set(-104).raw, _mm512_min_ps(Set(89).raw, x.raw))};  // NaN stays: it is the second operand
      const V nf = hn::Round(clamped * Set(1.44269504f));
      return V{_mm512_scalef_ps(ExpOfRest(clamped, nf).raw, nf.raw)};
    }
#endif
    const hn::RebindToSigned<D> di;
    const V clamped = hn::Max(hn::Min(x, Set(89)), Set(-104));
    const auto n = hn::NearestInt(clamped * Set(1.44269504f));
    const V e = ExpOfRest(clamped, hn::ConvertTo(d, n));
    const auto half = hn::ShiftRight<1>(n);
    const auto bias = hn::Set(di, 127);
    const V scale1 = hn::BitCast(d, hn::ShiftLeft<23>(half + bias));
    const V scale2 = hn::BitCast(d, hn::ShiftLeft<23>(n - half + bias));
    return Select(hn::IsNaN(x), x, e * scale1 * scale2);
  }

  // e^(x - n ln2)
  HWY_INLINE V ExpOfRest(V x, V n) const {
    V r = hn::NegMulAdd(n, Set(0.693359375f), x);
    r = hn::NegMulAdd(n, Set(-2.12194440e-4f), r);
    const V p = Poly(r, 0x1p-1f, 0x1.555554p-3f, 0x1.55548ep-5f, 0x1.111272p-7f, 0x1.6d8db2p-10f, 0x1.9f0816p-13f);
    return Set(1) + hn::MulAdd(r * r, p, r);
  }

  // 2^n e^r - 1 as 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)), so that 2^128 needs no float.
  HWY_INLINE V Expm1(V x) const {
    const hn::RebindToSigned<D> di;
    const V clamped = hn::Max(hn::Min(x, Set(89)), Set(-30));
    const auto n = hn::NearestInt(clamped * Set(1.44269504f));
    const V nf = hn::ConvertTo(d, n);
    V r = hn::NegMulAdd(nf, Set(0.693359375f), clamped);
    r = hn::NegMulAdd(nf, Set(-2.12194440e-4f), r);
    const V p = Poly(r, 0x1p-1f, 0x1.555554p-3f, 0x1.55548ep-5f, 0x1.111272p-7f, 0x1.6d8db2p-10f, 0x1.9f0816p-13f);
    const V e = hn::MulAdd(r * r, p, r);
    const V scale = hn::BitCast(d, hn::ShiftLeft<23>(n + hn::Set(di, 126)));
    const V y = hn::MulAdd(scale, e, scale - Set(0.5f));
    return Select(Or(Abs(x) < Set(0x1p-25f), hn::IsNaN(x)), x, y + y);
  }

  // log(u) of u = 1 + x rounded, times x / (u - 1), which undoes the rounding.
  HWY_INLINE V Log1p(V x) const {
    const V u = Set(1) + x;
    const V inf = Set(std::numeric_limits<float>::infinity());
    const V y = Log(u);
    const M exact = Or(Or(u == inf, u <= Set(0)), hn::IsNaN(x));
    return Select(Abs(x) <= Set(0x1p-24f), x, Select(exact, y, y * (x / (u - Set(1)))));
  }

  // x = 2^e m with m in [sqrt(1/2), sqrt 2)
  HWY_INLINE V Log(V x) const {
    const hn::RebindToSigned<D> di;
    const auto tiny = x < Set(std::numeric_limits<float>::min());
    const V scaled = Select(tiny, x * Set(0x1p25f), x);
    const auto offset = hn::Set(di, 0x3f3504f3);
    const auto bits = hn::BitCast(di, scaled) - offset;
    const V e = hn::ConvertTo(d, hn::ShiftRight<23>(bits)) - hn::IfThenElseZero(tiny, Set(25));
    const V f = hn::BitCast(d, hn::And(bits, hn::Set(di, 0x7fffff)) + offset) - Set(1);
    const V p = Poly(f, 0x1.555546p-2f, -0x1.000006p-2f, 0x1.99a4f6p-3f, -0x1.555cccp-3f, 0x1.23322ap-3f, -0x1.fc07cap-4f, 0x1.e728a6p-4f,
                     -0x1.deffe2p-4f, 0x1.14c9d8p-4f);
    const V s = f * f;
    V y = hn::MulAdd(f * s, p, e * Set(-2.12194440e-4f));
    y = hn::NegMulAdd(s, Set(0.5f), y);
    y = hn::MulAdd(e, Set(0.693359375f), f + y);
    const V inf = Set(std::numeric_limits<float>::infinity());
    y = Select(hn::Or(x == inf, hn::IsNaN(x)), x, y);
    y = Select(x == Set(0), Set(0) - inf, y);
    return Select(x < Set(0), Set(std::numeric_limits<float>::quiet_NaN()), y);
  }

  // a / b of b from 1 on; where division is slow, from an estimate of 1 / b and what that leaves of a, within a unit in the last place,
  // with any b beyond 1e30 as 1e30.
  HWY_INLINE V Quotient(V a, V b) const {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    if constexpr (std::is_same_v<V, hn::Vec512<float>>) {
      const V bounded{_mm512_min_ps(Set(1e30f).raw, b.raw)};  // NaN stays: it is the second operand
      const V r{_mm512_rcp14_ps(bounded.raw)};
      const V q = a * r;
      return hn::MulAdd(hn::NegMulAdd(q, bounded, a), r, q);
    }
#endif
    return a / b;
  }

  HWY_INLINE V Tanh(V x) const {
    const V a = Abs(x);
    const V z = x * x;
    const V p = Poly(z, -0x1.555532p-2f, 0x1.110726p-3f, -0x1.b83c58p-5f, 0x1.522692p-6f, -0x1.75e1aap-8f);
    const V small = hn::MulAdd(x * z, p, x);
    const V large = Set(1) - Quotient(Set(2), Exp(a + a) + Set(1));
    return hn::CopySign(Select(a < Set(0.625f), small, large), x);
  }

  HWY_INLINE V Erf(V x) const {
    const V a = Abs(x);
    const V p =
        Poly(x * x, 0x1.06eba8p-3f, -0x1.812744p-2f, 0x1.ce2e54p-4f, -0x1.b81524p-6f, 0x1.550a44p-8f, -0x1.aca392p-11f, 0x1.6510bep-14f);
    const V small = hn::MulAdd(x, p, x);
    const V large = Set(1) - Set(2) * PhiTail(a * Set(1.41421356f));
    return hn::CopySign(Select(a < Set(0.9f), small, large), x);
  }

  // P(N(0,1) < x): 1/2 + x P(x^2) near 0, else by the tail beyond |x|.
  HWY_INLINE V Phi(V x) const {
    const V a = Abs(x);
    const V tail = PhiTail(a);
    const V near =
        hn::MulAdd(x, Poly(x * x, 0x1.988454p-2f, -0x1.10580ap-4f, 0x1.46bf3ap-7f, -0x1.350508p-10f, 0x1.a6427cp-14f), Set(0.5f));
    return Select(a < Set(0.8f), near, Select(x < Set(0), tail, Set(1) - tail));
  }

  // P(N(0,1) > v) for v >= 0.75: exp(-a^2/2) t P(t), t = 1 / (1 + 3a/8). a^2 is split into an exact high part and a rest, because exp
  // multiplies the relative error of its argument by the argument.
  HWY_INLINE V PhiTail(V v) const {
    const hn::RebindToUnsigned<D> du;
    const V a = Select(Set(16) < v, Set(16), v);
    const V high = hn::BitCast(d, hn::And(hn::BitCast(du, a), hn::Set(du, 0xfffff000u)));
    const V rest = Set(-0.5f) * (a - high) * (a + high);
    const V e = Exp(Set(-0.5f) * high * high) * Poly(rest, 1.0f, 1.0f, 0.5f, 0.16666667f, 0.041666668f);
    const V t = Quotient(Set(1), hn::MulAdd(Set(0.375f), a, Set(1)));
    const V p = Poly(t, 0x1.32619ep-3f, 0x1.329560p-3f, 0x1.04b97cp-3f, 0x1.883924p-4f, -0x1.3ea254p-7f, 0x1.a942acp-4f, -0x1.017970p-2f,
                     0x1.6f80dap-3f, -0x1.6c77d0p-5f);
    return e * t * p;
  }
};

#define AMPC_FN HWY_INLINE
#include "kernels/common/functors.inc"
#undef AMPC_FN

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();
#endif
