// Small steps that the lowerings of arithmetic share. Like those of Lowering, they stay safe after an error and never return null.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/infer_context.h"
#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

// The element type; kInvalid and the state kNeedsShape where it is not known.
DType TypeOf(Lowering& l, const Var* x);
// One dim by its axis, which may be negative; -1 and the state kNeedsShape where it is not known, or an error where there is none.
int64_t DimOf(Lowering& l, const Var* x, int64_t axis);
// `axis` in [0, rank); 0 after an error or where the rank is not known.
int64_t AxisOf(Lowering& l, const Var* x, int64_t axis);
// Axes [first, last).
std::vector<int64_t> AxisRange(int64_t first, int64_t last);

// f16 and bf16 as f32, other types as they are: what a chain of several ops is computed in, to be rounded once at its end.
Var* Widened(Lowering& l, Var* x);
// An op from slot X to slot Out.
Var* Map(Lowering& l, absl::string_view type, Var* x, Lowering::Attrs attrs = {});
// A binary op whose second operand is a number of the type of `x`.
Var* WithNumber(Lowering& l, absl::string_view type, Var* x, double number);
// A reduction (reduce_sum, ..., logsumexp) over `axes`, over all where there are none.
Var* Reduced(Lowering& l, absl::string_view type, Var* x, std::vector<int64_t> axes, bool keep);
// `yes` where `condition` is true, else `no`; all three have one shape.
Var* Select(Lowering& l, Var* condition, Var* yes, Var* no);
// A tensor of `value` with the shape of `x`.
Var* Filled(Lowering& l, Var* x, double value, DType dtype);
// The nearest whole number; of two as near, the even one.
Var* RoundedToEven(Lowering& l, Var* x);
// [n] as [n, 1, ...] with `ones` ones, to be broadcast against trailing dims.
Var* WithTrailingOnes(Lowering& l, Var* x, int64_t ones);

// Inference: the first result has the type of the first operand.
absl::Status InferSameType(InferContext& ctx);

}  // namespace ampc::onnx
