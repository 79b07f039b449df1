// Parameters of argsort, top_k and top_k_v2.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/cpu/base/axis_split.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

struct SortSpec {
  AxisSplit split;   // of the operand
  int64_t kept = 1;  // along the axis of the results
  bool descending = false;
};
absl::StatusOr<SortSpec> ReadSort(const SpecView& view);

}  // namespace ampc
