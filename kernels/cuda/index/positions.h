// Reading an index; for device code.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/position.h"
#include "kernels/cuda/index/index.h"

namespace ampc::cuda {

AMPC_HOST_DEVICE inline int64_t NumberAt(const void* index, DType type, int64_t i) {
  return type == DType::kI32 ? static_cast<int64_t>(static_cast<const int32_t*>(index)[i]) : static_cast<const int64_t*>(index)[i];
}

inline constexpr int64_t kPadding = -1, kOutside = -2;

// The slice that row `row` names, or kPadding, kOutside.
AMPC_HOST_DEVICE inline int64_t PositionOf(const Positions& p, int64_t row) {
  int64_t position = 0;
  for (int k = 0; k < kMaxDepth; ++k) {  // a bound that the compiler knows keeps the sizes out of local memory
    if (k >= p.depth) break;
    const int64_t n = NumberAt(p.index, p.type, row * p.depth + k);
    if (p.padding >= 0 && n == p.padding) return kPadding;
    const int64_t at = PositionIn(n, p.sizes[k], p.from_end);
    if (at < 0) return kOutside;
    position = position * p.sizes[k] + at;
  }
  return position;
}

// The element of the table that element i belongs to, or kOutside.
AMPC_HOST_DEVICE inline int64_t PositionAlong(const AlongAxis& a, int64_t i) {
  const int64_t n = PositionIn(NumberAt(a.index, a.type, i), a.slots, a.from_end), block = a.count * a.inner;
  if (n < 0) return kOutside;
  return (i / block * a.slots + n) * a.inner + i % a.inner;
}

// The widest access that rows of `bytes` bytes at these addresses allow.
inline int64_t UnitOf(int64_t bytes, const void* a, const void* b) {
  const uint64_t bits = static_cast<uint64_t>(bytes) | reinterpret_cast<uint64_t>(a) | reinterpret_cast<uint64_t>(b) | 16;
  return static_cast<int64_t>(bits & (~bits + 1));
}

}  // namespace ampc::cuda
