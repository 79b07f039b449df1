// Common parts of the classification losses.
#pragma once

#include "absl/status/statusor.h"
#include "graph/infer_context.h"

namespace ampc::ops {

// The loss per row: the type of the scores `x` (operand in `slot`) with 1 at `axis`. Checks Label: with soft_label the shape and type
// of x, else i32 or i64 with 1 (or nothing) at `axis`. Constraints c1 (axis), c2 (type of Label), c3 (shape of Label).
absl::StatusOr<TensorType> LossType(const InferContext& ctx, const TensorType& x, absl::string_view slot, int64_t axis);

}  // namespace ampc::ops
