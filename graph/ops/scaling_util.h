// Common parts of check_finite_and_unscale and update_loss_scaling.
#pragma once

#include <initializer_list>

#include "graph/infer_context.h"
#include "graph/op_def.h"

namespace ampc::ops {

// Out has one result per operand of X, of its type. Constraint c1.
absl::Status OutLikeX(InferContext& ctx);
// The operand has one element, of one of `dtypes` (any when empty).
absl::Status NeedScalar(const InferContext& ctx, absl::string_view slot, std::initializer_list<DType> dtypes, int c);
// One flop per element of X, and every byte once.
Cost UnscaleCost(const Op& op);

}  // namespace ampc::ops
