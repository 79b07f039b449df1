// Common parts of ops with a nested block.
#pragma once

#include "graph/infer_context.h"
#include "graph/op_def.h"

namespace ampc::ops {

// The condition in `slot` is one bool.
absl::Status NeedCondition(const InferContext& ctx, absl::string_view slot, int c);
// Mask is one i32, i64 or bool.
absl::Status NeedMask(const InferContext& ctx, int c);
// Nothing by itself: the ops of the nested block are counted where they stand.
Cost BlockCost(const Op& op);
// Adds what every op with one nested block has: its attribute, class and gradient.
OpDef& WithBlock(OpDef& def);

}  // namespace ampc::ops
