// Adding slices at positions that an index gives: the adjoint of taking them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/parallel.h"

namespace ampc {

// An operand of `outer` times `count` slices of `width` elements each goes to a result of `outer` times `slots` slices: result slice p is
// the sum of those whose position is p, one after the other, 0 where there is none. Each slot has one thread, so sums do not depend on
// threads.
struct SliceSum {
  int64_t outer = 1, slots = 0, count = 0, width = 1;

  // Positions outside [0, slots) add to nothing.
  template <typename T>
  void Run(const int64_t* positions, const T* from, T* to, int threads) const {
    ParallelFor(threads, outer * slots, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, width)), [&](int64_t first, int64_t last) {
      std::fill(to + first * width, to + last * width, T(0));
      for (int64_t o = first / slots; o * slots < last; ++o) {
        const int64_t begin = std::max<int64_t>(0, first - o * slots), end = std::min(slots, last - o * slots);
        for (int64_t i = 0; i < count; ++i) {
          const int64_t p = positions[i];
          if (p < begin || p >= end) continue;
          const T* in = from + (o * count + i) * width;
          T* out = to + (o * slots + p) * width;
          for (int64_t k = 0; k < width; ++k) out[k] += in[k];
        }
      }
    });
  }
};

}  // namespace ampc
