#include "kernels/cpu/simd/elementwise.h"

#include <cstring>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/elementwise.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

template <class F>
void UnaryLoop(const float* x, float* out, size_t n, Params<float> params) {
  const SimdMath<D> m{};
  const size_t lanes = hn::Lanes(m.d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(F::Apply(m, hn::LoadU(m.d, x + i), params), m.d, out + i);
  if (i == n) return;
  HWY_ALIGN float tail[kMaxLanes] = {};
  std::memcpy(tail, x + i, (n - i) * sizeof(float));
  hn::Store(F::Apply(m, hn::Load(m.d, tail), params), m.d, tail);
  std::memcpy(out + i, tail, (n - i) * sizeof(float));
}

template <class F, Spread spread>
void BinaryLoop(const float* x, const float* y, float* out, size_t n) {
  if (n == 0) return;
  const SimdMath<D> m{};
  const size_t lanes = hn::Lanes(m.d);
  const V x0 = hn::Set(m.d, *x), y0 = hn::Set(m.d, *y);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V a = spread == Spread::kX ? x0 : hn::LoadU(m.d, x + i);
    const V b = spread == Spread::kY ? y0 : hn::LoadU(m.d, y + i);
    hn::StoreU(F::Apply(m, a, b), m.d, out + i);
  }
  if (i == n) return;
  HWY_ALIGN float xs[kMaxLanes] = {};
  HWY_ALIGN float ys[kMaxLanes] = {};
  if (spread != Spread::kX) std::memcpy(xs, x + i, (n - i) * sizeof(float));
  if (spread != Spread::kY) std::memcpy(ys, y + i, (n - i) * sizeof(float));
  const V a = spread == Spread::kX ? x0 : hn::Load(m.d, xs);
  const V b = spread == Spread::kY ? y0 : hn::Load(m.d, ys);
  hn::Store(F::Apply(m, a, b), m.d, xs);
  std::memcpy(out + i, xs, (n - i) * sizeof(float));
}

UnaryFn FindUnary(UnaryOp op) {
#define AMPC_ENTRY(name) &UnaryLoop<name>,
  static constexpr UnaryFn kTable[] = {AMPC_UNARY_FUNCTORS(AMPC_ENTRY)};
#undef AMPC_ENTRY
  return kTable[static_cast<int>(op)];
}

template <Spread spread>
BinaryFn FindBinaryWith(BinaryOp op) {
#define AMPC_ENTRY(name) &BinaryLoop<name, spread>,
  static constexpr BinaryFn kTable[] = {AMPC_BINARY_FUNCTORS(AMPC_ENTRY)};
#undef AMPC_ENTRY
  return kTable[static_cast<int>(op)];
}

BinaryFn FindBinary(BinaryOp op, Spread spread) {
  switch (spread) {
    case Spread::kX: return FindBinaryWith<Spread::kX>(op);
    case Spread::kY: return FindBinaryWith<Spread::kY>(op);
    case Spread::kNone: break;
  }
  return FindBinaryWith<Spread::kNone>(op);
}

const char* FindTargetName() {
  switch (HWY_TARGET) {
#if HWY_ARCH_X86
    case HWY_AVX2: return "avx2";
    case HWY_AVX3: return "avx3";
#elif HWY_ARCH_ARM
    case HWY_NEON: return "neon";
#endif
    default: return "emu128";
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

HWY_EXPORT(FindUnary);
HWY_EXPORT(FindBinary);
HWY_EXPORT(FindTargetName);

UnaryFn Unary(UnaryOp op) { return HWY_DYNAMIC_DISPATCH(FindUnary)(op); }
BinaryFn Binary(BinaryOp op, Spread spread) { return HWY_DYNAMIC_DISPATCH(FindBinary)(op, spread); }
const char* TargetName() { return HWY_DYNAMIC_DISPATCH(FindTargetName)(); }

}  // namespace ampc::simd
#endif
