#include "kernels/cpu/optimizer/update_loops.h"

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optimizer/update_loops.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls f(tag, i) for whole vectors, then for single numbers, which compute the same.
template <typename T, class F>
HWY_INLINE void ForEach(int64_t n, F&& f) {
  const hn::ScalableTag<T> wide;
  const int64_t width = static_cast<int64_t>(hn::Lanes(wide));
  int64_t i = 0;
  for (; i + width <= n; i += width) f(wide, i);
  for (; i < n; ++i) f(hn::CappedTag<T, 1>(), i);
}

template <class D, class V, typename T>
HWY_INLINE void StoreParam(D d, V p, const UpdateRun<T>& run, int64_t i) {
  hn::StoreU(p, d, run.param_out + i);
  if (run.copy_out != nullptr) hn::StoreU(p, d, run.copy_out + i);
}

template <typename T>
HWY_INLINE void Sgd(const SgdRule<T>& rule, const UpdateRun<T>& run, int64_t n) {
  ForEach<T>(n, [&](auto d, int64_t i) {
    const auto p = hn::LoadU(d, run.param + i);
    StoreParam(d, hn::Sub(p, hn::Mul(hn::Set(d, rule.lr), hn::LoadU(d, run.grad + i))), run, i);
  });
}

// `kDecay` apart, because 0 * p is not 0 for every p.
template <bool kDecay, bool kNesterov, typename T>
HWY_INLINE void MomentumAs(const MomentumRule<T>& rule, const UpdateRun<T>& run, int64_t n) {
  ForEach<T>(n, [&](auto d, int64_t i) {
    const auto lr = hn::Set(d, rule.lr), mu = hn::Set(d, rule.mu);
    const auto p = hn::LoadU(d, run.param + i);
    auto g = hn::Mul(hn::LoadU(d, run.grad + i), hn::Set(d, rule.rescale));
    if constexpr (kDecay) g = hn::Add(g, hn::Mul(p, hn::Set(d, rule.decay)));
    const auto v = hn::Add(hn::Mul(hn::LoadU(d, run.moment1 + i), mu), g);
    hn::StoreU(v, d, run.moment1_out + i);
    const auto step = kNesterov ? hn::Mul(hn::Add(g, hn::Mul(v, mu)), lr) : hn::Mul(lr, v);
    StoreParam(d, hn::Sub(p, step), run, i);
  });
}

template <typename T>
HWY_INLINE void Momentum(const MomentumRule<T>& rule, const UpdateRun<T>& run, int64_t n) {
  if (rule.decay != 0) {
    rule.nesterov ? MomentumAs<true, true>(rule, run, n) : MomentumAs<true, false>(rule, run, n);
  } else {
    rule.nesterov ? MomentumAs<false, true>(rule, run, n) : MomentumAs<false, false>(rule, run, n);
  }
}

// beta1 * m1 + (1 - beta1) * g and beta2 * m2 + (1 - beta2) * g * g, stored.
template <class D, class Rule, typename T, class V>
HWY_INLINE void NextMoments(D d, const Rule& rule, const UpdateRun<T>& run, int64_t i, V& m1, V& m2) {
  const auto g = hn::LoadU(d, run.grad + i);
  m1 = hn::Add(hn::Mul(hn::Set(d, rule.beta1), hn::LoadU(d, run.moment1 + i)), hn::Mul(hn::Set(d, 1 - rule.beta1), g));
  m2 = hn::Add(hn::Mul(hn::Set(d, rule.beta2), hn::LoadU(d, run.moment2 + i)), hn::Mul(hn::Mul(hn::Set(d, 1 - rule.beta2), g), g));
  hn::StoreU(m1, d, run.moment1_out + i);
  hn::StoreU(m2, d, run.moment2_out + i);
}

template <typename T>
HWY_INLINE void Adam(const AdamRule<T>& rule, const UpdateRun<T>& run, int64_t n) {
  ForEach<T>(n, [&](auto d, int64_t i) {
    const auto p = hn::Mul(hn::LoadU(d, run.param + i), hn::Set(d, rule.keep));
    hn::Vec<decltype(d)> m1, m2;
    NextMoments(d, rule, run, i, m1, m2);
    const auto step = hn::Div(m1, hn::Add(hn::Sqrt(m2), hn::Set(d, rule.epsilon)));
    StoreParam(d, hn::Sub(p, hn::Mul(hn::Set(d, rule.rate), step)), run, i);
  });
}

template <class D, typename T, class V>
HWY_INLINE V LambDirection(D d, const LambRule<T>& rule, V p, V m1, V m2) {
  const auto root = hn::Sqrt(hn::Div(m2, hn::Set(d, rule.correct2)));
  const auto step = hn::Div(hn::Div(m1, hn::Set(d, rule.correct1)), hn::Add(root, hn::Set(d, rule.epsilon)));
  return hn::Add(step, hn::Mul(hn::Set(d, rule.decay), p));
}

template <typename T>
HWY_INLINE void LambFirst(const LambRule<T>& rule, const UpdateRun<T>& run, T* direction, int64_t n) {
  ForEach<T>(n, [&](auto d, int64_t i) {
    hn::Vec<decltype(d)> m1, m2;
    NextMoments(d, rule, run, i, m1, m2);
    hn::StoreU(LambDirection(d, rule, hn::LoadU(d, run.param + i), m1, m2), d, direction + i);
  });
}

template <typename T>
HWY_INLINE void LambSecond(const LambRule<T>& rule, const UpdateRun<T>& run, int64_t n) {
  ForEach<T>(n, [&](auto d, int64_t i) {
    const auto p = hn::LoadU(d, run.param + i);
    const auto step = LambDirection(d, rule, p, hn::LoadU(d, run.moment1 + i), hn::LoadU(d, run.moment2 + i));
    StoreParam(d, hn::Sub(p, hn::Mul(hn::Set(d, rule.rate), step)), run, i);
  });
}

#define AMPC_UPDATE_LOOPS(suffix, T)                                                                                     \
  void SgdLoop##suffix(const SgdRule<T>& rule, const UpdateRun<T>& run, int64_t n) { Sgd(rule, run, n); }                \
  void MomentumLoop##suffix(const MomentumRule<T>& rule, const UpdateRun<T>& run, int64_t n) { Momentum(rule, run, n); } \
  void AdamLoop##suffix(const AdamRule<T>& rule, const UpdateRun<T>& run, int64_t n) { Adam(rule, run, n); }             \
  void LambLoop##suffix(const LambRule<T>& rule, const UpdateRun<T>& run, int64_t n) { LambSecond(rule, run, n); }       \
  void LambMomentsLoop##suffix(const LambRule<T>& rule, const UpdateRun<T>& run, T* direction, int64_t n) {              \
    LambFirst(rule, run, direction, n);                                                                                  \
  }
AMPC_UPDATE_LOOPS(F32, float)
AMPC_UPDATE_LOOPS(F64, double)
#undef AMPC_UPDATE_LOOPS

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

#define AMPC_UPDATE(name, Rule, suffix, T) \
  HWY_EXPORT(name##Loop##suffix);          \
  void Update(const Rule<T>& rule, const UpdateRun<T>& run, int64_t n) { HWY_DYNAMIC_DISPATCH(name##Loop##suffix)(rule, run, n); }
AMPC_UPDATE(Sgd, SgdRule, F32, float)
AMPC_UPDATE(Sgd, SgdRule, F64, double)
AMPC_UPDATE(Momentum, MomentumRule, F32, float)
AMPC_UPDATE(Momentum, MomentumRule, F64, double)
AMPC_UPDATE(Adam, AdamRule, F32, float)
AMPC_UPDATE(Adam, AdamRule, F64, double)
AMPC_UPDATE(Lamb, LambRule, F32, float)
AMPC_UPDATE(Lamb, LambRule, F64, double)
#undef AMPC_UPDATE

HWY_EXPORT(LambMomentsLoopF32);
HWY_EXPORT(LambMomentsLoopF64);
void LambMoments(const LambRule<float>& rule, const UpdateRun<float>& run, float* direction, int64_t n) {
  HWY_DYNAMIC_DISPATCH(LambMomentsLoopF32)(rule, run, direction, n);
}
void LambMoments(const LambRule<double>& rule, const UpdateRun<double>& run, double* direction, int64_t n) {
  HWY_DYNAMIC_DISPATCH(LambMomentsLoopF64)(rule, run, direction, n);
}

}  // namespace ampc::simd
#endif
