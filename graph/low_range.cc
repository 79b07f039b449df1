#include "graph/low_range.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ampc {
namespace {

constexpr uint32_t kMagnitude = 0x7fffffffu;
constexpr uint32_t kInfinity = 0x7f800000u;
constexpr size_t kBlock = 4096;  // the counters of one block fit into 32 bits

struct Counts {
  uint32_t over = 0;
  uint32_t zero = 0;
  uint32_t subnormal = 0;
  uint32_t non_finite = 0;
  uint32_t max = 0;  // magnitude bits of finite values
};

// Magnitudes are compared as signed integers, which orders non-negative floats; vector units have no unsigned comparison.
// Written without branches so that the compiler vectorises it.
template <bool kClamp, OnTiny kTiny>
[[gnu::always_inline]] inline Counts AdjustBlock(const char* in, size_t n, const LowRange& range, float* out) {
  const auto overflow = static_cast<int32_t>(range.overflow);
  const auto max_finite = static_cast<int32_t>(range.max_finite);
  const auto zero_max = static_cast<int32_t>(range.zero_max);
  const auto normal_min = static_cast<int32_t>(range.normal_min);
  const auto min_subnormal = static_cast<int32_t>(range.min_subnormal);
  int32_t over = 0, zero = 0, tiny = 0, non_finite = 0, max = 0;
  for (size_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, in + i * sizeof(bits), sizeof(bits));
    const auto a = static_cast<int32_t>(bits & kMagnitude);
    const int32_t finite = a < static_cast<int32_t>(kInfinity);
    const int32_t is_over = (a >= overflow) & finite;
    const int32_t is_zero = (a <= zero_max) & (a > 0);
    const int32_t is_tiny = (a < normal_min) & (a > 0);
    over += is_over;
    zero += is_zero;
    tiny += is_tiny;
    non_finite += 1 - finite;
    max = std::max(max, finite ? a : 0);
    int32_t adjusted = a;
    if constexpr (kClamp) adjusted = is_over ? max_finite : adjusted;
    if constexpr (kTiny == OnTiny::kFlush) adjusted = is_tiny ? 0 : adjusted;
    if constexpr (kTiny == OnTiny::kKeep) adjusted = is_zero ? min_subnormal : adjusted;
    const uint32_t result = static_cast<uint32_t>(adjusted) | (bits & ~kMagnitude);
    std::memcpy(out + i, &result, sizeof(result));
  }
  Counts counts;
  counts.over = static_cast<uint32_t>(over);
  counts.zero = static_cast<uint32_t>(zero);
  counts.subnormal = static_cast<uint32_t>(tiny - zero);
  counts.non_finite = static_cast<uint32_t>(non_finite);
  counts.max = static_cast<uint32_t>(max);
  return counts;
}

template <OnTiny kTiny>
[[gnu::always_inline]] inline Counts AdjustTiny(const char* in, size_t n, const LowRange& range, bool clamp, float* out) {
  return clamp ? AdjustBlock<true, kTiny>(in, n, range, out) : AdjustBlock<false, kTiny>(in, n, range, out);
}

[[gnu::always_inline]] inline Counts AdjustAny(const char* in, size_t n, const LowRange& range, bool clamp, OnTiny tiny, float* out) {
  switch (tiny) {
    case OnTiny::kFlush: return AdjustTiny<OnTiny::kFlush>(in, n, range, clamp, out);
    case OnTiny::kKeep: return AdjustTiny<OnTiny::kKeep>(in, n, range, clamp, out);
    case OnTiny::kSubnormal: break;
  }
  return AdjustTiny<OnTiny::kSubnormal>(in, n, range, clamp, out);
}

Counts AdjustBase(const char* in, size_t n, const LowRange& range, bool clamp, OnTiny tiny, float* out) {
  return AdjustAny(in, n, range, clamp, tiny, out);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] Counts AdjustAvx2(const char* in, size_t n, const LowRange& range, bool clamp, OnTiny tiny, float* out) {
  return AdjustAny(in, n, range, clamp, tiny, out);
}
using AdjustFn = Counts (*)(const char*, size_t, const LowRange&, bool, OnTiny, float*);
AdjustFn ChooseAdjust() { return __builtin_cpu_supports("avx2") ? AdjustAvx2 : AdjustBase; }
#endif

Counts Adjust(const char* in, size_t n, const LowRange& range, bool clamp, OnTiny tiny, float* out) {
#if defined(__x86_64__)
  static const AdjustFn fn = ChooseAdjust();
  return fn(in, n, range, clamp, tiny, out);
#else
  return AdjustBase(in, n, range, clamp, tiny, out);
#endif
}

size_t FirstBeyond(const char* in, size_t n, const LowRange& range) {
  for (size_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, in + i * sizeof(bits), sizeof(bits));
    const uint32_t a = bits & kMagnitude;
    if (a >= range.overflow && a < kInfinity) return i;
  }
  return n;
}

}  // namespace

const LowRange& LowRangeOf(DType low) {
  // f16: 65520 ties to infinity, 2^-25 ties to zero, 2^-14 - 2^-25 ties to the least normal value.
  static constexpr LowRange kHalf = {0x477ff000u, 0x477fe000u, 0x33000000u, 0x387fe000u, 0x33800000u};
  // bf16 has float32's exponents; its ties lie half a unit of the upper 16 bits above.
  static constexpr LowRange kBFloat = {0x7f7f8000u, 0x7f7f0000u, 0x00008000u, 0x007f8000u, 0x00010000u};
  return low == DType::kF16 ? kHalf : kBFloat;
}

size_t AdjustToLow(const char* in, size_t n, const WeightTransform& transform, float* out, WeightDamage* damage) {
  const LowRange& range = LowRangeOf(transform.to);
  const bool clamp = transform.on_overflow == OnOverflow::kClamp;
  size_t first_beyond = n;
  for (size_t begin = 0; begin < n; begin += kBlock) {
    const size_t count = std::min(kBlock, n - begin);
    const char* block = in + begin * sizeof(float);
    const Counts c = Adjust(block, count, range, clamp, transform.on_tiny, out + begin);
    if (c.over > 0 && first_beyond == n) first_beyond = begin + FirstBeyond(block, count, range);
    damage->clamped += c.over;
    damage->non_finite += c.non_finite;
    damage->max_abs = std::max(damage->max_abs, static_cast<double>(std::bit_cast<float>(c.max)));
    const int64_t tiny = static_cast<int64_t>(c.zero) + c.subnormal;
    damage->flushed += transform.on_tiny == OnTiny::kFlush ? tiny : transform.on_tiny == OnTiny::kKeep ? 0 : c.zero;
    damage->subnormal += transform.on_tiny == OnTiny::kFlush ? 0 : transform.on_tiny == OnTiny::kKeep ? tiny : c.subnormal;
  }
  damage->elements += static_cast<int64_t>(n);
  return first_beyond;
}

}  // namespace ampc
