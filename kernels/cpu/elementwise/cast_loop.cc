#include "kernels/cpu/elementwise/cast_loop.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "graph/base/convert.h"
#include "graph/base/dtype_switch.h"
#include "graph/base/packed.h"
#include "kernels/common/integer.h"
#include "kernels/parallel.h"
#include "kernels/tensor_desc.h"

namespace ampc {
namespace {

using Fn = void (*)(const void*, void*, int64_t);

constexpr int64_t kGrain = 1 << 15;
constexpr int64_t kTile = 1 << 11;  // elements that are still in the first-level cache when they are rounded

template <typename To, typename From>
To Convert(From v) {
  if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return integer::FromFloat<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

template <typename To, typename From>
void Loop(const void* x, void* out, int64_t n) {
  if constexpr (std::is_same_v<To, From>) {
    if (x != out) std::memcpy(out, x, n * sizeof(To));
  } else {
    const From* in = static_cast<const From*>(x);
    To* o = static_cast<To*>(out);
    for (int64_t i = 0; i < n; ++i) o[i] = Convert<To, From>(in[i]);
  }
}

Fn Find(DType from, DType to) {
  return Select<NumbersAndBool>(from, [to](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    return Select<NumbersAndBool>(to, [](auto to_tag) -> Fn { return &Loop<typename decltype(to_tag)::type, From>; });
  });
}

using SmallFloats = Types<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, ScaleFloat, Float4E2M1>;

template <typename From>
void Decode(const void* x, void* out, int64_t n) {
  static const std::array<float, 256>& values = *new auto([] {
    std::array<float, 256> all;
    for (int i = 0; i < 256; ++i) all[i] = static_cast<float>(From::FromBits(static_cast<uint8_t>(i)));
    return all;
  }());
  const auto* in = static_cast<const uint8_t*>(x);
  for (int64_t i = 0; i < n; ++i) static_cast<float*>(out)[i] = values[in[i]];
}

template <typename To>
void Encode(const float* x, void* out, int64_t n, CastRounding rounding) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<To, ScaleFloat>) {
      static_cast<To*>(out)[i] = To::Rounded(x[i], rounding.saturate, rounding.mode);
    } else {
      // f4e2m1 has no NaN: as in ONNX's own data it becomes -0.
      static_cast<To*>(out)[i] =
          std::is_same_v<To, Float4E2M1> && std::isnan(x[i]) ? To::FromBits(8) : To::Rounded(x[i], rounding.saturate);
    }
  }
}

// The type whose values an array of a storage type is read as, and written as before the last step.
DType ReadType(DType storage) {
  if (IsSmallFloat(storage)) return DType::kF32;
  return !IsPacked(storage) ? storage : IsSignedInteger(storage) ? DType::kI8 : DType::kU8;
}
DType WrittenType(DType storage) { return IsSmallFloat(storage) ? DType::kF32 : IsPacked(storage) ? DType::kI8 : storage; }

// The low bits of each element, as a type of less than 8 bits has them.
void KeepLowBits(DType type, char* data, int64_t n) {
  for (int64_t i = 0; i < n; ++i) data[i] = static_cast<char>(PackedElement(type, static_cast<uint8_t>(data[i])));
}

}  // namespace

CastLoop::CastLoop(DType from, DType to, CastRounding rounding)
    : decode_(Select<SmallFloats>(from, [](auto tag) -> Fn { return &Decode<typename decltype(tag)::type>; })),
      fn_(Find(ReadType(StorageType(from)), WrittenType(StorageType(to)))),
      encode_(Select<SmallFloats>(to, [](auto tag) -> EncodeFn { return &Encode<typename decltype(tag)::type>; })),
      from_(from),
      to_(to),
      rounding_(rounding),
      from_size_(static_cast<int64_t>(SizeOf(StorageType(from)))),
      to_size_(static_cast<int64_t>(SizeOf(StorageType(to)))) {}

bool CastLoop::keeps_bytes() const { return from_ == to_ || (StorageType(from_) == DType::kF32 && to_ == DType::kF32); }

// At most kTile elements; nothing but the last step writes to `out`, which may be `x`.
void CastLoop::RunTile(const char* x, char* out, int64_t n) const {
  float decoded[kTile], floats[kTile];
  const void* from = x;
  if (decode_ != nullptr) {
    decode_(x, decoded, n);
    from = decoded;
  }
  if (encode_ != nullptr) {
    fn_(from, floats, n);
    encode_(floats, out, n, rounding_);
    return;
  }
  fn_(from, out, n);
  if (IsPacked(to_)) KeepLowBits(to_, out, n);
}

void CastLoop::Run(const void* x, void* out, int64_t n, int threads) const {
  const bool small = decode_ != nullptr || encode_ != nullptr || IsPacked(to_);
  ParallelFor(threads, n, kGrain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i += kTile) {
      const int64_t count = std::min(kTile, last - i);
      const char* from = static_cast<const char*>(x) + i * from_size_;
      char* to = static_cast<char*>(out) + i * to_size_;
      if (to_ == from_) {
        if (from != to) std::memcpy(to, from, static_cast<size_t>(count * to_size_));
        continue;
      }
      if (small) {
        RunTile(from, to, count);
      } else {
        fn_(from, to, count);
      }
      if (to_ == DType::kF16) RoundF32ToF16InPlace(reinterpret_cast<float*>(to), static_cast<size_t>(count));
      if (to_ == DType::kBF16) RoundF32ToBF16InPlace(reinterpret_cast<float*>(to), static_cast<size_t>(count));
    }
  });
}

}  // namespace ampc
