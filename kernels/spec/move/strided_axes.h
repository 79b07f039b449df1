// The dimensions of a copy between two strided arrays, as few as possible.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ampc {

struct StridedAxis {
  int64_t size, from, to;  // strides in elements
};

// Outermost first. Dimensions of size 1 go, and those that lie dense in each other on both sides join. One element: no axis; where a
// dimension is empty: one axis of size 0.
std::vector<StridedAxis> JoinAxes(absl::Span<const int64_t> dims, absl::Span<const int64_t> from, absl::Span<const int64_t> to);

// One block that is dense on both sides, or nothing.
bool IsDense(absl::Span<const StridedAxis> axes);

}  // namespace ampc
