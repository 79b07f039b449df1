// ReduceShape: a reduction as the device runs it.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace ampc::cuda {

inline constexpr int kMaxLoops = 6;

// Nested loops with element strides, outermost first.
struct Loops {
  int rank = 0;
  int64_t size[kMaxLoops] = {}, stride[kMaxLoops] = {};

  AMPC_HOST_DEVICE int64_t Count() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= size[d];
    return n;
  }
  // Of element `i`, counted row-major.
  AMPC_HOST_DEVICE int64_t OffsetOf(int64_t i) const {
    int64_t offset = 0;
    for (int d = rank - 1; d > 0; --d) {
      offset += i % size[d] * stride[d];
      i /= size[d];
    }
    return rank == 0 ? 0 : offset + i * stride[0];
  }
};

// As ReducePlan (kernels/spec/reduce_plan.h): around a unit of `rows` x `columns` elements, whose columns are each reduced over the rows,
// the loops that are kept and those that are reduced. A result is cut into `slices` of `slice` elements, whose results are combined in
// their order; both depend on the shape only.
struct ReduceShape {
  Loops kept = {}, reduced = {};
  int64_t rows = 1, columns = 1;
  int64_t num_kept = 1, count = 1;  // results are num_kept * columns, each of `count` elements
  int64_t slices = 1, slice = 1;

  AMPC_HOST_DEVICE int64_t results() const { return num_kept * columns; }
  // Partial results in the workspace.
  int64_t parts() const { return slices > 1 ? results() * slices : 0; }
  // Elements along the reduced loops, counted row-major.
  AMPC_HOST_DEVICE int64_t OffsetOf(int64_t i) const {
    return reduced.rank == 0 ? i * columns : reduced.OffsetOf(i / rows) + i % rows * columns;
  }
};

// Sets what follows from the loops, rows and columns: counts and slices.
void FinishShape(ReduceShape* shape);

}  // namespace ampc::cuda
