// Common parts of the records of quantised arithmetic: integers of 8 or 16 bits that stand for (x - zero point) * scale.
#pragma once

#include "absl/status/status.h"
#include "graph/infer_context.h"
#include "graph/op_def.h"

namespace ampc::ops {

bool IsQuantized(DType dtype);  // u8, i8, u16, i16

// The operands Scale and, where given, ZeroPoint are one number, or one for each index along `axis` of X. Constraints c1 (the axis), c2
// (how many), c4 (types).
absl::Status CheckScales(const InferContext& ctx);

// quantized_matmul and quantized_conv2d: behind operands `x` and `w`, those that say what the integers stand for, Bias, and how the result
// is quantised; the fused activation; AMP class and gradient.
OpDef& QuantizedProductSlots(OpDef& def, const std::string& x, const std::string& w, const std::string& out);
// Their constraints c1 (types) and c2 (one number, and scales come together).
absl::Status CheckQuantizedProduct(const InferContext& ctx, const std::string& x, const std::string& w);
// Constraint c3: the scale and zero point of the second operand, and Bias, are one number or `columns`.
absl::Status CheckColumns(const InferContext& ctx, int64_t columns);
// Of the result: i32 without scales, f32, or out_dtype where it is quantised.
DType TypeOfQuantizedProduct(const InferContext& ctx);

}  // namespace ampc::ops
