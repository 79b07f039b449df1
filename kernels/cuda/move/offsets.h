// From a running number to an offset in strided memory, with few instructions: what kernels need that walk several dimensions.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/cuda/launch/divider.h"

namespace ampc::cuda {

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
      offset += (i - rest * size[d].divisor()) * stride[d];
      i = rest;
    }
    return offset;
  }
};

}  // namespace ampc::cuda
