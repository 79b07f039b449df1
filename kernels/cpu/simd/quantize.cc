#include "kernels/cpu/simd/quantize.h"

#include <limits>
#include <type_traits>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/quantize.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

using DI = hn::RebindToSigned<D16>;

template <typename T>
HWY_INLINE hn::Vec<hn::Rebind<T, D16>> QuantizeVector(V16 x, V16 scale, V16 zero_point) {
  // The ends are whole numbers, so that it makes no difference that they are applied behind the rounding.
  const V16 low = hn::Set(kTag, static_cast<float>(std::numeric_limits<T>::min())),
            high = hn::Set(kTag, static_cast<float>(std::numeric_limits<T>::max()));
  const V16 v = hn::Round(x / scale) + zero_point;
  const V16 number = hn::IfThenElseZero(v == v, v);
  return hn::DemoteTo(hn::Rebind<T, D16>(), hn::ConvertTo(DI(), hn::Min(hn::Max(number, low), high)));
}

template <typename T>
void QuantizeLoop(const float* x, float scale, int32_t zero_point, void* out, int64_t n) {
  const hn::Rebind<T, D16> to;
  const V16 s = hn::Set(kTag, scale), z = hn::Set(kTag, static_cast<float>(zero_point));
  T* o = static_cast<T*>(out);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) hn::StoreU(QuantizeVector<T>(hn::LoadU(kTag, x + i), s, z), to, o + i);
  if (i == n) return;
  HWY_ALIGN T tail[kWidth];
  hn::Store(QuantizeVector<T>(LoadTail(x + i, n - i), s, z), to, tail);
  for (int64_t k = 0; k < kWidth && i + k < n; ++k) o[i + k] = tail[k];
}

HWY_INLINE hn::Vec<DI> SumVector(const int32_t* sums, const int32_t* offset, const int32_t* zero, hn::Vec<DI> row) {
  const DI d;
  hn::Vec<DI> sum = hn::LoadU(d, sums);
  if (offset != nullptr) sum = sum - hn::LoadU(d, offset);
  return zero == nullptr ? sum : sum - hn::LoadU(d, zero) * row;
}

// One vector of results.
template <typename T>
HWY_INLINE void FinishVector(const int32_t* sums, hn::Vec<DI> row, const SumColumns& c, int64_t i, T* out) {
  const hn::Vec<DI> sum = SumVector(sums, c.offset == nullptr ? nullptr : c.offset + i, c.zero == nullptr ? nullptr : c.zero + i, row);
  if constexpr (std::is_same_v<T, int32_t>) {
    hn::StoreU(sum, DI(), out);
  } else {
    V16 v = hn::ConvertTo(kTag, sum) * hn::LoadU(kTag, c.scale + i);
    if (c.bias != nullptr) v = v + hn::LoadU(kTag, c.bias + i);
    const V16 low = hn::Set(kTag, c.low), high = hn::Set(kTag, c.high);
    v = hn::IfThenElse(v < low, low, v);
    v = hn::IfThenElse(v > high, high, v);
    if constexpr (std::is_same_v<T, float>) {
      hn::StoreU(v, kTag, out);
    } else {
      hn::StoreU(QuantizeVector<T>(v, hn::Set(kTag, 1.0f), hn::Set(kTag, static_cast<float>(c.zero_point))), hn::Rebind<T, D16>(), out);
    }
  }
}

// `n` < kWidth numbers of an array, or null; zeros beyond.
template <typename T>
HWY_INLINE const T* Short(const T* from, int64_t n, T* to) {
  if (from == nullptr) return nullptr;
  for (int64_t k = 0; k < kWidth; ++k) to[k] = k < n ? from[k] : T(0);
  return to;
}

template <typename T>
void FinishSumsLoop(const int32_t* sums, int32_t row, const SumColumns& c, void* out, int64_t n) {
  const hn::Vec<DI> r = hn::Set(DI(), row);
  T* o = static_cast<T*>(out);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) FinishVector(sums + i, r, c, i, o + i);
  if (i == n) return;
  int32_t rest[kWidth], offset[kWidth], zero[kWidth];
  float scale[kWidth], bias[kWidth];
  T results[kWidth];
  SumColumns last = c;
  const int64_t count = n - i;
  last.offset = c.offset == nullptr ? nullptr : Short(c.offset + i, count, offset);
  last.zero = c.zero == nullptr ? nullptr : Short(c.zero + i, count, zero);
  last.scale = c.scale == nullptr ? nullptr : Short(c.scale + i, count, scale);
  last.bias = c.bias == nullptr ? nullptr : Short(c.bias + i, count, bias);
  FinishVector(Short(sums + i, count, rest), r, last, 0, results);
  for (int64_t k = 0; k < kWidth && k < count; ++k) o[i + k] = results[k];
}

template <typename T>
HWY_INLINE V16 DequantizeVector(const T* x, hn::Vec<DI> zero_point, V16 scale) {
  hn::Vec<DI> wide;
  if constexpr (sizeof(T) == sizeof(int32_t)) {
    wide = hn::LoadU(DI(), x);
  } else {
    wide = hn::PromoteTo(DI(), hn::LoadU(hn::Rebind<T, D16>(), x));
  }
  return hn::ConvertTo(kTag, wide - zero_point) * scale;
}

template <typename T>
void DequantizeLoop(const void* x, float scale, int32_t zero_point, float* out, int64_t n) {
  const hn::Vec<DI> z = hn::Set(DI(), zero_point);
  const V16 s = hn::Set(kTag, scale);
  const T* in = static_cast<const T*>(x);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) hn::StoreU(DequantizeVector(in + i, z, s), kTag, out + i);
  if (i == n) return;
  HWY_ALIGN T tail[kWidth] = {};
  for (int64_t k = 0; k < kWidth && i + k < n; ++k) tail[k] = in[i + k];
  StoreTail(DequantizeVector(tail, z, s), out + i, n - i);
}

template <typename T>
int32_t SumOfBytes(const T* x, int64_t n) {
  hn::Vec<DI> sum = hn::Zero(DI());
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) sum = sum + hn::PromoteTo(DI(), hn::LoadU(hn::Rebind<T, D16>(), x + i));
  HWY_ALIGN int32_t lanes[kWidth];
  hn::Store(sum, DI(), lanes);
  int32_t total = 0;
  for (int64_t k = 0; k < kWidth; ++k) total += lanes[k];
  for (; i < n; ++i) total += x[i];
  return total;
}

int32_t SumBytesLoop(DType type, const void* x, int64_t n) {
  return type == DType::kU8 ? SumOfBytes(static_cast<const uint8_t*>(x), n) : SumOfBytes(static_cast<const int8_t*>(x), n);
}

QuantizeFn FindQuantize(DType to) {
  switch (to) {
    case DType::kU8: return &QuantizeLoop<uint8_t>;
    case DType::kI8: return &QuantizeLoop<int8_t>;
    case DType::kU16: return &QuantizeLoop<uint16_t>;
    case DType::kI16: return &QuantizeLoop<int16_t>;
    default: return nullptr;
  }
}

FinishSumsFn FindFinishSums(DType to) {
  switch (to) {
    case DType::kU8: return &FinishSumsLoop<uint8_t>;
    case DType::kI8: return &FinishSumsLoop<int8_t>;
    case DType::kF32: return &FinishSumsLoop<float>;
    case DType::kI32: return &FinishSumsLoop<int32_t>;
    default: return nullptr;
  }
}

DequantizeFn FindDequantize(DType from) {
  switch (from) {
    case DType::kU8: return &DequantizeLoop<uint8_t>;
    case DType::kI8: return &DequantizeLoop<int8_t>;
    case DType::kU16: return &DequantizeLoop<uint16_t>;
    case DType::kI16: return &DequantizeLoop<int16_t>;
    case DType::kI32: return &DequantizeLoop<int32_t>;
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

HWY_EXPORT(FindQuantize);
HWY_EXPORT(FindDequantize);
HWY_EXPORT(FindFinishSums);
HWY_EXPORT(SumBytesLoop);

QuantizeFn Quantize(DType to) { return HWY_DYNAMIC_DISPATCH(FindQuantize)(to); }
int32_t SumBytes(DType type, const void* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(SumBytesLoop)(type, x, n); }
FinishSumsFn FinishSums(DType to) { return HWY_DYNAMIC_DISPATCH(FindFinishSums)(to); }
DequantizeFn Dequantize(DType from) { return HWY_DYNAMIC_DISPATCH(FindDequantize)(from); }

}  // namespace ampc::simd
#endif
