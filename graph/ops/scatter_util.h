// Common parts of the ops that join updates with elements at given positions.
#pragma once

#include "absl/status/status.h"
#include "graph/infer_context.h"

namespace ampc::ops {

// The attribute is none, add, mul, max or min: constraint `c`.
absl::Status NeedReduction(const InferContext& ctx, absl::string_view attr, int c);

}  // namespace ampc::ops
