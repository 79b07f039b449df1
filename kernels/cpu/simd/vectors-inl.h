// Walks over float arrays in vectors of at most 16, so that sums have one order on every CPU. Compiled once per instruction set.
#include <cstdint>
#include <cstring>

#if defined(KERNELS_CPU_SIMD_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_CPU_SIMD_VECTORS_INL_H_
#undef KERNELS_CPU_SIMD_VECTORS_INL_H_
#else
#define KERNELS_CPU_SIMD_VECTORS_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::CappedTag<float, 16>;
using V16 = hn::Vec<D16>;
constexpr D16 kTag;
constexpr int64_t kWidth = hn::MaxLanes(D16());

// Loads and stores of the first `n` < kWidth floats; loads give zeros beyond.
HWY_INLINE V16 LoadTail(const float* p, int64_t n) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN float tail[kWidth] = {};
  std::memcpy(tail, p, static_cast<size_t>(n) * sizeof(float));
  return hn::Load(kTag, tail);
#else
  return hn::MaskedLoad(hn::FirstN(kTag, static_cast<size_t>(n)), kTag, p);
#endif
}
HWY_INLINE void StoreTail(V16 v, float* p, int64_t n) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN float tail[kWidth];
  hn::Store(v, kTag, tail);
  std::memcpy(p, tail, static_cast<size_t>(n) * sizeof(float));
#else
  hn::BlendedStore(v, hn::FirstN(kTag, static_cast<size_t>(n)), kTag, p);
#endif
}

// The same of bf16, as bits; only loads.
HWY_INLINE V16 Widen(hn::Vec<hn::Rebind<uint16_t, D16>> v) {
  const hn::RebindToUnsigned<D16> wide;
  return hn::BitCast(kTag, hn::ShiftLeft<16>(hn::PromoteTo(wide, v)));
}
HWY_INLINE V16 LoadTail(const uint16_t* p, int64_t n) {
  const hn::Rebind<uint16_t, D16> d;
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN uint16_t tail[kWidth] = {};
  std::memcpy(tail, p, static_cast<size_t>(n) * sizeof(uint16_t));
  return Widen(hn::Load(d, tail));
#else
  return Widen(hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p));
#endif
}
HWY_INLINE V16 LoadWhole(const float* p) { return hn::LoadU(kTag, p); }
HWY_INLINE V16 LoadWhole(const uint16_t* p) { return Widen(hn::LoadU(hn::Rebind<uint16_t, D16>(), p)); }

// Calls f(offset, load, store) for whole vectors and once for what is left, whose loads give zeros beyond the end.
template <class F>
HWY_INLINE void ForEachVector(int64_t n, F&& f) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    f(
        i, [](const auto* p) { return LoadWhole(p); }, [](V16 v, float* p) { hn::StoreU(v, kTag, p); });
  }
  if (i == n) return;
  const int64_t rest = n - i;
  f(
      i, [rest](const auto* p) { return LoadTail(p, rest); }, [rest](V16 v, float* p) { StoreTail(v, p, rest); });
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();
#endif
