#include "kernels/cpu/simd/gradient.h"

#include <cstring>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/gradient.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

#define AMPC_FN HWY_INLINE
#include "kernels/common/gradient_functors.inc"
#undef AMPC_FN

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

// The first `n` < Lanes(d) elements; zeros beyond.
HWY_INLINE V LoadRest(D d, const float* p, size_t n) {
  HWY_ALIGN float rest[kMaxLanes] = {};
  std::memcpy(rest, p, n * sizeof(float));
  return hn::Load(d, rest);
}

HWY_INLINE void StoreRest(D d, V v, float* p, size_t n) {
  HWY_ALIGN float rest[kMaxLanes];
  hn::Store(v, d, rest);
  std::memcpy(p, rest, n * sizeof(float));
}

template <class F>
void UnaryLoop(const float* v, const float* g, float* out, size_t n, Params<float> params) {
  const SimdMath<D> m{};
  const size_t lanes = hn::Lanes(m.d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(F::Apply(m, hn::LoadU(m.d, v + i), hn::LoadU(m.d, g + i), params), m.d, out + i);
  if (i == n) return;
  StoreRest(m.d, F::Apply(m, LoadRest(m.d, v + i, n - i), LoadRest(m.d, g + i, n - i), params), out + i, n - i);
}

template <class F, Fixed fixed>
void RowLoop(const float* x, const float* y, const float* g, float* out, size_t n, Params<float> params) {
  if (n == 0) return;
  constexpr bool kX = fixed == Fixed::kX, kY = fixed == Fixed::kY || fixed == Fixed::kYG, kG = fixed == Fixed::kYG;
  const SimdMath<D> m{};
  const size_t lanes = hn::Lanes(m.d);
  const V x0 = hn::Set(m.d, *x), y0 = hn::Set(m.d, *y), g0 = hn::Set(m.d, *g);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V a = kX ? x0 : hn::LoadU(m.d, x + i);
    const V b = kY ? y0 : hn::LoadU(m.d, y + i);
    const V c = kG ? g0 : hn::LoadU(m.d, g + i);
    hn::StoreU(F::Apply(m, a, b, c, params), m.d, out + i);
  }
  if (i == n) return;
  const size_t rest = n - i;
  const V a = kX ? x0 : LoadRest(m.d, x + i, rest);
  const V b = kY ? y0 : LoadRest(m.d, y + i, rest);
  const V c = kG ? g0 : LoadRest(m.d, g + i, rest);
  StoreRest(m.d, F::Apply(m, a, b, c, params), out + i, rest);
}

UnaryGradientFn FindUnaryGradient(UnaryGradient op) {
#define AMPC_ENTRY(name) &UnaryLoop<name>,
  static constexpr UnaryGradientFn kTable[] = {AMPC_UNARY_GRADIENTS(AMPC_ENTRY)};
#undef AMPC_ENTRY
  return kTable[static_cast<int>(op)];
}

RowGradientFn FindRowGradient(RowGradient op, Fixed fixed) {
  struct Loops {
    RowGradientFn none, x, y, yg;
  };
#define AMPC_BINARY(name) {&RowLoop<name, Fixed::kNone>, &RowLoop<name, Fixed::kX>, &RowLoop<name, Fixed::kY>, nullptr},
#define AMPC_REDUCTION(name) {&RowLoop<name, Fixed::kNone>, nullptr, nullptr, &RowLoop<name, Fixed::kYG>},
  static constexpr Loops kTable[] = {AMPC_BROADCAST_GRADIENTS(AMPC_BINARY) AMPC_REDUCTION_GRADIENTS(AMPC_REDUCTION)};
#undef AMPC_BINARY
#undef AMPC_REDUCTION
  const Loops& loops = kTable[static_cast<int>(op)];
  return fixed == Fixed::kNone ? loops.none : fixed == Fixed::kX ? loops.x : fixed == Fixed::kY ? loops.y : loops.yg;
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

HWY_EXPORT(FindUnaryGradient);
HWY_EXPORT(FindRowGradient);

UnaryGradientFn GradientOf(UnaryGradient op) { return HWY_DYNAMIC_DISPATCH(FindUnaryGradient)(op); }
RowGradientFn GradientOf(RowGradient op, Fixed fixed) { return HWY_DYNAMIC_DISPATCH(FindRowGradient)(op, fixed); }

}  // namespace ampc::simd
#endif
