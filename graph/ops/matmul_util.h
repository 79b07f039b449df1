// Common parts of matmul, matmul_v2, mul and fc.
#pragma once

#include "graph/infer_context.h"
#include "graph/op_def.h"

namespace ampc::ops {

// The type of X times Y with numpy's rules: vectors are a row (X) or a column (Y) whose dimension goes again, leading dimensions
// broadcast. Constraints c1 (one dtype), c2 (inner dimensions), c3 (leading dimensions), c4 (no rank 0). Sets Out.
absl::Status InferMatmul(InferContext& ctx, bool transpose_x, bool transpose_y);
// Two flops per multiply-add; `inner` is the length of each dot product, unknown counts as 1.
Cost DotCost(const Op& op, int64_t inner);
// Cost of a product whose X is transposed where the attribute says so.
Cost MatmulCost(const Op& op, const char* transpose_x);
OpDef& MatmulExtras(OpDef& def);

}  // namespace ampc::ops
