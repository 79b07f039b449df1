// Broadcasting of two operands, reduced at plan time to rows: as few dimensions as possible, the last one contiguous.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace ampc {

// Element strides; 0 where an operand repeats. The result is dense.
struct BroadcastPlan {
  std::vector<int64_t> outer;               // dimensions before the last
  std::vector<int64_t> x_stride, y_stride;  // of `outer`
  int64_t rows = 1;                         // product of `outer`
  int64_t inner = 1;                        // elements of a row
  int x_inner = 1, y_inner = 1;             // 1: a row of the operand is contiguous; 0: one element
};

// `axis` is Paddle's: the dimension of the operand of higher rank at which the other's dimensions start; -1 aligns the last
// dimensions. Sizes 1 and missing dimensions repeat. nullopt when the shapes do not fit each other or `out`.
std::optional<BroadcastPlan> PlanBroadcast(absl::Span<const int64_t> x, absl::Span<const int64_t> y, int64_t axis,
                                           absl::Span<const int64_t> out);

// Both operands' dims with 1 in every dimension of the result that they do not have, aligned by the same rule; nullopt where they do not
// fit.
struct AlignedDims {
  std::vector<int64_t> x, y;
};
std::optional<AlignedDims> AlignDims(absl::Span<const int64_t> x, absl::Span<const int64_t> y, int64_t axis, absl::Span<const int64_t> out);

// Calls row(out_offset, x_offset, y_offset) for rows [first, last).
template <typename F>
void ForEachRow(const BroadcastPlan& plan, int64_t first, int64_t last, F&& row) {
  const int rank = static_cast<int>(plan.outer.size());
  absl::InlinedVector<int64_t, 4> at(rank, 0);
  int64_t x = 0, y = 0;
  for (int64_t rest = first, d = rank - 1; d >= 0; --d) {
    at[d] = rest % plan.outer[d];
    rest /= plan.outer[d];
    x += at[d] * plan.x_stride[d];
    y += at[d] * plan.y_stride[d];
  }
  for (int64_t r = first; r < last; ++r) {
    row(r * plan.inner, x, y);
    for (int d = rank - 1; d >= 0; --d) {
      x += plan.x_stride[d];
      y += plan.y_stride[d];
      if (++at[d] < plan.outer[d]) break;
      x -= at[d] * plan.x_stride[d];
      y -= at[d] * plan.y_stride[d];
      at[d] = 0;
    }
  }
}

}  // namespace ampc
