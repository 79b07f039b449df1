// AxisSplit: a row-major tensor as kernels that work along one axis see it.
#pragma once

#include <cstdint>

#include "absl/types/span.h"

namespace ampc {

// `outer` blocks of `inner` rows; the `size` elements of a row lie `inner` apart.
struct AxisSplit {
  int64_t outer = 1, size = 1, inner = 1;
};

// `axis` in [0, rank); anything for rank 0, which has one row of one element.
inline AxisSplit SplitAt(absl::Span<const int64_t> dims, int64_t axis) {
  AxisSplit s;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) (d < axis ? s.outer : d == axis ? s.size : s.inner) *= dims[d];
  return s;
}

}  // namespace ampc
