// From a running number to an offset in strided memory, with few instructions: what kernels need that walk several dimensions.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace ampc::cuda {

// Divides numbers that are not negative by a fixed positive one; by a multiplication where both are below 2^31.
struct Divider {
  int64_t divisor = 1;
  uint32_t magic = 0, shift = 0;  // magic 0: too large

  Divider() = default;
  explicit Divider(int64_t d) : divisor(d) {
    if (d > INT32_MAX) return;
    while ((int64_t{1} << shift) < d) ++shift;
    magic = static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << shift) - static_cast<uint64_t>(d))) / static_cast<uint64_t>(d) + 1);
  }
  AMPC_HOST_DEVICE int64_t Quotient(int64_t n) const {
    if (magic == 0 || n > INT32_MAX) return n / divisor;
    const uint32_t small = static_cast<uint32_t>(n);
    const uint32_t high = static_cast<uint32_t>((static_cast<uint64_t>(small) * magic) >> 32);
    return (high + small) >> shift;
  }
};

inline constexpr int kMaxAxes = 8;

// Dimensions, outermost first.
struct Offsets {
  int rank = 0;
  Divider size[kMaxAxes];
  int64_t stride[kMaxAxes] = {};

  // Appends inside of the others; at most kMaxAxes.
  void Add(int64_t n, int64_t step) {
    size[rank] = Divider(n);
    stride[rank++] = step;
  }
  AMPC_HOST_DEVICE int64_t At(int64_t i) const {
    int64_t offset = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t rest = size[d].Quotient(i);
      offset += (i - rest * size[d].divisor) * stride[d];
      i = rest;
    }
    return offset;
  }
};

}  // namespace ampc::cuda
