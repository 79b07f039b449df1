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

// Calls f(tag, i) for whole vectors, then for ever shorter ones down to single numbers, which compute the same.
template <class F>
HWY_INLINE void ForEachState(int64_t n, F&& f) {
  int64_t i = 0;
  const auto with = [&](auto tag) {
    const int64_t width = static_cast<int64_t>(hn::Lanes(tag));
    for (; i + width <= n; i += width) f(tag, i);
  };
  with(hn::ScalableTag<float>());
  with(hn::CappedTag<float, 8>());
  with(hn::CappedTag<float, 4>());
  with(hn::CappedTag<float, 1>());
}

void LstmLoop(const float* x, const float* h, const float* before, float* c, float* out, int64_t n, float* keep) {
  ForEachState(n, [&](auto d, int64_t at) {
    const SimdMath<decltype(d)> m{};
    const auto gate = [&](int64_t k) { return hn::LoadU(d, x + k * n + at) + hn::LoadU(d, h + k * n + at); };
    const auto f = SigmoidOf(m, gate(1));
    const auto kept = f * hn::LoadU(d, before + at);
    const auto i = SigmoidOf(m, gate(0)), g = m.Tanh(gate(2)), o = SigmoidOf(m, gate(3));
    const auto state = hn::MulAdd(i, g, kept);
    const auto seen = m.Tanh(state);
    hn::StoreU(state, d, c + at);
    hn::StoreU(o * seen, d, out + at);
    if (keep == nullptr) return;
    hn::StoreU(i, d, keep + at);
    hn::StoreU(f, d, keep + n + at);
    hn::StoreU(g, d, keep + 2 * n + at);
    hn::StoreU(o, d, keep + 3 * n + at);
    hn::StoreU(seen, d, keep + 4 * n + at);
  });
}

void GruLoop(const float* x, const float* h, const float* bias, const float* before, float* out, int64_t n, float* keep) {
  ForEachState(n, [&](auto d, int64_t at) {
    const SimdMath<decltype(d)> m{};
    const auto gate = [&](int64_t k) { return hn::LoadU(d, x + k * n + at) + hn::LoadU(d, h + k * n + at); };
    const auto r = SigmoidOf(m, gate(0));
    const auto z = SigmoidOf(m, gate(1));
    const auto from_state = hn::LoadU(d, h + 2 * n + at) + hn::LoadU(d, bias + at);
    const auto c = m.Tanh(hn::MulAdd(r, from_state, hn::LoadU(d, x + 2 * n + at)));
    hn::StoreU(hn::MulAdd(hn::LoadU(d, before + at) - c, z, c), d, out + at);
    if (keep == nullptr) return;
    hn::StoreU(r, d, keep + at);
    hn::StoreU(z, d, keep + n + at);
    hn::StoreU(c, d, keep + 2 * n + at);
    hn::StoreU(from_state, d, keep + 3 * n + at);
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

// Stored weights as floats.
template <class D>
HWY_INLINE hn::Vec<D> LoadWeights(D d, const float* w) {
  return hn::LoadU(d, w);
}
template <class D>
HWY_INLINE hn::Vec<D> LoadWeights(D d, const Half* w) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, D>(), reinterpret_cast<const hwy::float16_t*>(w)));
}

// kVectors neighbouring vectors of the result at once: as many sums as hide the latency of an addition.
template <int kVectors, class D, typename T>
HWY_INLINE void TimesColumns(D d, const float* state, const T* w, int64_t n, int64_t stride, float* out) {
  const int64_t width = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> sum[kVectors];
  for (int k = 0; k < kVectors; ++k) sum[k] = hn::Zero(d);
  for (int64_t i = 0; i < n; ++i, w += stride) {
    const auto v = hn::Set(d, state[i]);
    for (int k = 0; k < kVectors; ++k) sum[k] = hn::MulAdd(v, LoadWeights(d, w + k * width), sum[k]);
  }
  for (int k = 0; k < kVectors; ++k) hn::StoreU(sum[k], d, out + k * width);
}

// Of pairs of rows: a shift and a mask widen them.
template <int kVectors, class D>
HWY_INLINE void TimesColumns(D d, const float* state, const BFloat16Pair* w, int64_t n, int64_t stride, float* out) {
  const hn::RebindToUnsigned<D> bits;
  const int64_t width = static_cast<int64_t>(hn::Lanes(d));
  const auto second = hn::Set(bits, 0xffff0000u);
  hn::Vec<D> sum[kVectors];
  for (int k = 0; k < kVectors; ++k) sum[k] = hn::Zero(d);
  for (int64_t i = 0; i < n; i += 2, w += stride) {
    const auto v0 = hn::Set(d, state[i]), v1 = hn::Set(d, i + 1 < n ? state[i + 1] : 0.0f);
    for (int k = 0; k < kVectors; ++k) {
      const auto pair = hn::LoadU(bits, reinterpret_cast<const uint32_t*>(w + k * width));
      sum[k] = hn::MulAdd(v0, hn::BitCast(d, hn::ShiftLeft<16>(pair)), sum[k]);
      sum[k] = hn::MulAdd(v1, hn::BitCast(d, hn::And(pair, second)), sum[k]);
    }
  }
  for (int k = 0; k < kVectors; ++k) hn::StoreU(sum[k], d, out + k * width);
}

template <typename T>
void StateTimesBlock(const float* state, const T* w, int64_t n, int64_t columns, float* out) {
  const hn::CappedTag<float, 16> d;
  const int64_t width = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 8 * width <= columns; i += 8 * width) TimesColumns<8>(d, state, w + i, n, columns, out + i);
  for (; i + 4 * width <= columns; i += 4 * width) TimesColumns<4>(d, state, w + i, n, columns, out + i);
  for (; i < columns; i += width) TimesColumns<1>(d, state, w + i, n, columns, out + i);
}

void StateTimesFloats(const float* state, const float* w, int64_t n, int64_t columns, float* out) {
  StateTimesBlock(state, w, n, columns, out);
}
void StateTimesPairs(const float* state, const BFloat16Pair* w, int64_t n, int64_t columns, float* out) {
  StateTimesBlock(state, w, n, columns, out);
}
void StateTimesHalves(const float* state, const Half* w, int64_t n, int64_t columns, float* out) {
  StateTimesBlock(state, w, n, columns, out);
}

void LstmGradientLoop(const float* kept, const float* before, const float* h, float* c, float* gates, int64_t n) {
  ForEachState(n, [&](auto d, int64_t at) {
    const auto one = hn::Set(d, 1.0f);
    const auto load = [&](int64_t k) { return hn::LoadU(d, kept + k * n + at); };
    const auto i = load(0), f = load(1), g = load(2), o = load(3), seen = load(4), dh = hn::LoadU(d, h + at);
    const auto dc = hn::LoadU(d, c + at) + dh * o * (one - seen * seen);
    hn::StoreU(dc * g * i * (one - i), d, gates + at);
    hn::StoreU(dc * hn::LoadU(d, before + at) * f * (one - f), d, gates + n + at);
    hn::StoreU(dc * i * (one - g * g), d, gates + 2 * n + at);
    hn::StoreU(dh * seen * o * (one - o), d, gates + 3 * n + at);
    hn::StoreU(dc * f, d, c + at);
  });
}

void GruGradientLoop(const float* kept, const float* before, float* h, float* x_gates, float* h_gates, int64_t n) {
  ForEachState(n, [&](auto d, int64_t at) {
    const auto one = hn::Set(d, 1.0f);
    const auto load = [&](int64_t k) { return hn::LoadU(d, kept + k * n + at); };
    const auto r = load(0), z = load(1), c = load(2), from_state = load(3), dh = hn::LoadU(d, h + at);
    const auto candidate = dh * (one - z) * (one - c * c);
    const auto dr = candidate * from_state * r * (one - r);
    const auto dz = dh * (hn::LoadU(d, before + at) - c) * z * (one - z);
    hn::StoreU(dr, d, x_gates + at);
    hn::StoreU(dz, d, x_gates + n + at);
    hn::StoreU(candidate, d, x_gates + 2 * n + at);
    hn::StoreU(dr, d, h_gates + at);
    hn::StoreU(dz, d, h_gates + n + at);
    hn::StoreU(candidate * r, d, h_gates + 2 * n + at);
    hn::StoreU(dh * z, d, h + at);
  });
}

void TanhGradientLoop(const float* out, const float* h, float* gates, int64_t n) {
  ForEachState(n, [&](auto d, int64_t at) {
    const auto y = hn::LoadU(d, out + at);
    hn::StoreU(hn::LoadU(d, h + at) * (hn::Set(d, 1.0f) - y * y), d, gates + at);
  });
}

void ReluGradientLoop(const float* out, const float* h, float* gates, int64_t n) {
  ForEachState(n, [&](auto d, int64_t at) {
    const auto zero = hn::Zero(d);
    hn::StoreU(hn::IfThenElse(hn::LoadU(d, out + at) > zero, hn::LoadU(d, h + at), zero), d, gates + at);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

HWY_EXPORT(StateTimesFloats);
HWY_EXPORT(StateTimesPairs);
HWY_EXPORT(StateTimesHalves);
HWY_EXPORT(LstmLoop);
HWY_EXPORT(GruLoop);
HWY_EXPORT(TanhLoop);
HWY_EXPORT(ReluLoop);
HWY_EXPORT(LstmGradientLoop);
HWY_EXPORT(GruGradientLoop);
HWY_EXPORT(TanhGradientLoop);
HWY_EXPORT(ReluGradientLoop);

void LstmRow(const float* x, const float* h, const float* before, float* c, float* out, int64_t n, float* kept) {
  HWY_DYNAMIC_DISPATCH(LstmLoop)(x, h, before, c, out, n, kept);
}
void GruRow(const float* x, const float* h, const float* bias, const float* before, float* out, int64_t n, float* kept) {
  HWY_DYNAMIC_DISPATCH(GruLoop)(x, h, bias, before, out, n, kept);
}
void TanhRow(const float* x, const float* h, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(TanhLoop)(x, h, out, n); }
void ReluRow(const float* x, const float* h, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(ReluLoop)(x, h, out, n); }
void StateTimesMatrix(const float* state, const float* w, int64_t n, int64_t columns, float* out) {
  HWY_DYNAMIC_DISPATCH(StateTimesFloats)(state, w, n, columns, out);
}
void StateTimesMatrix(const float* state, const BFloat16Pair* w, int64_t n, int64_t columns, float* out) {
  HWY_DYNAMIC_DISPATCH(StateTimesPairs)(state, w, n, columns, out);
}
void StateTimesMatrix(const float* state, const Half* w, int64_t n, int64_t columns, float* out) {
  HWY_DYNAMIC_DISPATCH(StateTimesHalves)(state, w, n, columns, out);
}
void LstmGradientRow(const float* kept, const float* before, const float* h, float* c, float* gates, int64_t n) {
  HWY_DYNAMIC_DISPATCH(LstmGradientLoop)(kept, before, h, c, gates, n);
}
void GruGradientRow(const float* kept, const float* before, float* h, float* x_gates, float* h_gates, int64_t n) {
  HWY_DYNAMIC_DISPATCH(GruGradientLoop)(kept, before, h, x_gates, h_gates, n);
}
void TanhGradientRow(const float* out, const float* h, float* gates, int64_t n) {
  HWY_DYNAMIC_DISPATCH(TanhGradientLoop)(out, h, gates, n);
}
void ReluGradientRow(const float* out, const float* h, float* gates, int64_t n) {
  HWY_DYNAMIC_DISPATCH(ReluGradientLoop)(out, h, gates, n);
}

}  // namespace ampc::simd
#endif
