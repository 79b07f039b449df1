// A reduction over some dimensions of a dense tensor, as nested loops with as few dimensions as possible.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ampc {

struct ReducePlan {
  // Loops around one unit of work; element strides of the operand. Results are numbered by the kept loops, row-major, and
  // then by column.
  std::vector<int64_t> kept, kept_stride;
  std::vector<int64_t> reduced, reduced_stride;
  // The unit: `rows` x `columns` elements, row stride `columns`; each column is reduced over the rows. With columns == 1 the
  // rows are one contiguous run.
  int64_t rows = 1;
  int64_t columns = 1;

  int64_t NumKept() const;
  int64_t NumReduced() const;
};

// `reduce[d]` tells which dimensions go.
ReducePlan PlanReduce(absl::Span<const int64_t> dims, const std::vector<bool>& reduce);

// Offset of element `i` of the loops `sizes` with `strides`.
inline int64_t OffsetOf(int64_t i, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = sizes.size(); d-- > 1;) {
    offset += i % sizes[d] * strides[d];
    i /= sizes[d];
  }
  return sizes.empty() ? 0 : offset + i * strides[0];
}

}  // namespace ampc
