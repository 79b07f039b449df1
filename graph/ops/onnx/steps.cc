#include "graph/ops/onnx/steps.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/move_util.h"

namespace ampc::onnx {

DType TypeOf(Lowering& l, const Var* x) {
  if (x->type.dtype == DType::kInvalid) l.NeedsShape(absl::StrCat("the type of '", x->name(), "'"));
  return x->type.dtype;
}

int64_t AxisOf(Lowering& l, const Var* x, int64_t axis) {
  const int rank = l.Rank(x);
  return rank < 0 ? 0 : Axis(l, axis, rank);
}

int64_t DimOf(Lowering& l, const Var* x, int64_t axis) {
  const int64_t at = AxisOf(l, x, axis);
  if (!l.ok()) return -1;
  const int64_t dim = x->type.dims[at];
  if (!IsKnown(dim)) l.NeedsShape(absl::StrCat("dim ", at, " of '", x->name(), "'"));
  return IsKnown(dim) ? dim : -1;
}

std::vector<int64_t> AxisRange(int64_t first, int64_t last) {
  std::vector<int64_t> axes(last > first ? last - first : 0);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

Var* Widened(Lowering& l, Var* x) { return IsLowPrecision(TypeOf(l, x)) ? l.Cast(x, DType::kF32) : x; }

Var* Map(Lowering& l, absl::string_view type, Var* x, Lowering::Attrs attrs) { return l.Op(type, {{"X", x}}, std::move(attrs)); }

Var* WithNumber(Lowering& l, absl::string_view type, Var* x, double number) {
  return l.Binary(type, x, l.ConstScalar(number, TypeOf(l, x)));
}

Var* Reduced(Lowering& l, absl::string_view type, Var* x, std::vector<int64_t> axes, bool keep) {
  const bool all = axes.empty();
  if (type == "logsumexp") {
    return Map(l, type, x, {{"axis", std::move(axes)}, {"keepdim", keep}, {"reduce_all", all}});
  }
  return Map(l, type, x, {{"dim", std::move(axes)}, {"keep_dim", keep}, {"reduce_all", all}});
}

Var* Select(Lowering& l, Var* condition, Var* yes, Var* no) { return l.Op("where", {{"Condition", condition}, {"X", yes}, {"Y", no}}); }

Var* Filled(Lowering& l, Var* x, double value, DType dtype) {
  return Map(l, "fill_any_like", x, {{"value", static_cast<float>(value)}, {"dtype", dtype}});
}

Var* RoundedToEven(Lowering& l, Var* x) {
  // Halfway values are twice the rounded half: 2 * round(2.5 / 2) = 2, 2 * round(3.5 / 2) = 4.
  Var* fraction = Map(l, "abs", l.Binary("elementwise_sub", x, Map(l, "trunc", x)));
  Var* halfway = l.Binary("logical_and", WithNumber(l, "greater_equal", fraction, 0.5), WithNumber(l, "less_equal", fraction, 0.5));
  Var* even = WithNumber(l, "elementwise_mul", Map(l, "round", WithNumber(l, "elementwise_mul", x, 0.5)), 2);
  return Select(l, halfway, even, Map(l, "round", x));
}

Var* WithTrailingOnes(Lowering& l, Var* x, int64_t ones) {
  if (ones <= 0) return x;
  std::vector<int64_t> dims(ones + 1, 1);
  dims[0] = -1;
  return l.Reshape(x, std::move(dims));
}

absl::Status InferSameType(InferContext& ctx) {
  const OpDef& def = ctx.op().def();
  ctx.Out(def.outputs[0].name, ctx.In(def.inputs[0].name));
  return absl::OkStatus();
}

}  // namespace ampc::onnx
