// Common parts of ops on tensor arrays. An array is state that ops change in place, so none of them is pure.
#pragma once

#include "graph/infer_context.h"

namespace ampc::ops {

// `array<dtype> [*]`: elements may differ in dims.
TensorType ArrayOf(DType dtype);
// The operand is an array, or nothing is known of it yet.
absl::Status NeedArray(const InferContext& ctx, absl::string_view slot, int c);
// The operand is one i32 or i64.
absl::Status NeedIndex(const InferContext& ctx, absl::string_view slot, int c);

}  // namespace ampc::ops
