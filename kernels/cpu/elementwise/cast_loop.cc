#include "kernels/cpu/elementwise/cast_loop.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "graph/base/convert.h"
#include "kernels/common/integer.h"
#include "kernels/parallel.h"

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

template <typename From>
Fn FindTo(DType to) {
  switch (to) {
    case DType::kBool:
      return &Loop<bool, From>;
    case DType::kU8:
      return &Loop<uint8_t, From>;
    case DType::kI8:
      return &Loop<int8_t, From>;
    case DType::kI16:
      return &Loop<int16_t, From>;
    case DType::kI32:
      return &Loop<int32_t, From>;
    case DType::kI64:
      return &Loop<int64_t, From>;
    case DType::kF32:
      return &Loop<float, From>;
    case DType::kF64:
      return &Loop<double, From>;
    default:
      return nullptr;
  }
}

Fn Find(DType from, DType to) {
  switch (from) {
    case DType::kBool:
      return FindTo<bool>(to);
    case DType::kU8:
      return FindTo<uint8_t>(to);
    case DType::kI8:
      return FindTo<int8_t>(to);
    case DType::kI16:
      return FindTo<int16_t>(to);
    case DType::kI32:
      return FindTo<int32_t>(to);
    case DType::kI64:
      return FindTo<int64_t>(to);
    case DType::kF32:
      return FindTo<float>(to);
    case DType::kF64:
      return FindTo<double>(to);
    default:
      return nullptr;
  }
}

}  // namespace

CastLoop::CastLoop(DType from, DType to)
    : fn_(Find(StorageType(from), StorageType(to))),
      from_(from),
      to_(to),
      from_size_(static_cast<int64_t>(SizeOf(StorageType(from)))),
      to_size_(static_cast<int64_t>(SizeOf(StorageType(to)))) {}

bool CastLoop::keeps_bytes() const { return from_ == to_ || (StorageType(from_) == DType::kF32 && to_ == DType::kF32); }

void CastLoop::Run(const void* x, void* out, int64_t n, int threads) const {
  ParallelFor(threads, n, kGrain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i += kTile) {
      const int64_t count = std::min(kTile, last - i);
      char* to = static_cast<char*>(out) + i * to_size_;
      fn_(static_cast<const char*>(x) + i * from_size_, to, count);
      if (to_ == from_) continue;
      if (to_ == DType::kF16) RoundF32ToF16InPlace(reinterpret_cast<float*>(to), static_cast<size_t>(count));
      if (to_ == DType::kBF16) RoundF32ToBF16InPlace(reinterpret_cast<float*>(to), static_cast<size_t>(count));
    }
  });
}

}  // namespace ampc
