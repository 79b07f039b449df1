#include "kernels/cpu/simd/gates.h"

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/gates.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

// Calls f(tag, i) for whole vectors, then for single numbers, which compute the same.
template <class F>
HWY_INLINE void ForEachState(int64_t n, F&& f) {
  const hn::ScalableTag<float> wide;
  const int64_t width = static_cast<int64_t>(hn::Lanes(wide));
  int64_t i = 0;
  for (; i + width <= n; i += width) f(wide, i);
  for (; i < n; ++i) f(hn::CappedTag<float, 1>(), i);
}

void LstmLoop(const float* x, const float* h, const float* before, float* c, float* out, int64_t n) {
  ForEachState(n, [&](auto d, int64_t at) {
    const SimdMath<decltype(d)> m{};
    const auto gate = [&](int64_t k) { return hn::LoadU(d, x + k * n + at) + hn::LoadU(d, h + k * n + at); };
    const auto kept = SigmoidOf(m, gate(1)) * hn::LoadU(d, before + at);
    const auto state = hn::MulAdd(SigmoidOf(m, gate(0)), m.Tanh(gate(2)), kept);
    const auto shown = SigmoidOf(m, gate(3)) * m.Tanh(state);
    hn::StoreU(state, d, c + at);
    hn::StoreU(shown, d, out + at);
  });
}

void GruLoop(const float* x, const float* h, const float* bias, const float* before, float* out, int64_t n) {
  ForEachState(n, [&](auto d, int64_t at) {
    const SimdMath<decltype(d)> m{};
    const auto gate = [&](int64_t k) { return hn::LoadU(d, x + k * n + at) + hn::LoadU(d, h + k * n + at); };
    const auto r = SigmoidOf(m, gate(0));
    const auto z = SigmoidOf(m, gate(1));
    const auto from_state = hn::LoadU(d, h + 2 * n + at) + hn::LoadU(d, bias + at);
    const auto c = m.Tanh(hn::MulAdd(r, from_state, hn::LoadU(d, x + 2 * n + at)));
    hn::StoreU(hn::MulAdd(hn::LoadU(d, before + at) - c, z, c), d, out + at);
  });
}

void TanhLoop(const float* x, const float* h, float* out, int64_t n) {
  ForEachState(n, [&](auto d, int64_t at) {
    const SimdMath<decltype(d)> m{};
    hn::StoreU(m.Tanh(hn::LoadU(d, x + at) + hn::LoadU(d, h + at)), d, out + at);
  });
}

void ReluLoop(const float* x, const float* h, float* out, int64_t n) {
  ForEachState(n, [&](auto d, int64_t at) {
    const SimdMath<decltype(d)> m{};
    hn::StoreU(Relu::Apply(m, hn::LoadU(d, x + at) + hn::LoadU(d, h + at), {}), d, out + at);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

HWY_EXPORT(LstmLoop);
HWY_EXPORT(GruLoop);
HWY_EXPORT(TanhLoop);
HWY_EXPORT(ReluLoop);

void LstmRow(const float* x, const float* h, const float* before, float* c, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(LstmLoop)(x, h, before, c, out, n);
}
void GruRow(const float* x, const float* h, const float* bias, const float* before, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(GruLoop)(x, h, bias, before, out, n);
}
void TanhRow(const float* x, const float* h, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(TanhLoop)(x, h, out, n); }
void ReluRow(const float* x, const float* h, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(ReluLoop)(x, h, out, n); }

}  // namespace ampc::simd
#endif
