#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferFlatten2(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  OutXShape(ctx, x);
  if (!x.has_rank) {
    ctx.Out("Out", TensorType(x.dtype, Dims(2, kUnknownDim)));
    return absl::OkStatus();
  }
  const int64_t axis = ctx.op().GetInt("axis");
  if (axis < 0 || axis > x.rank()) return Fail(ctx, 1, "axis is ", axis, ", needs 0 to ", x.rank());
  const int at = static_cast<int>(axis);
  const int64_t rows = at == 1 ? x.dims[0] : Product(Slice(x.dims, 0, at));
  ctx.Out("Out", TensorType(x.dtype, {rows, Product(Slice(x.dims, at, x.rank()))}));
  return absl::OkStatus();
}

}  // namespace

OpDef Flatten2Def() {
  return OpDef("flatten2")
      .Doc("X as a matrix: the dimensions before 'axis' are the rows. XShape keeps the shape of X.")
      .In("X")
      .Out("Out")
      .OptOut("XShape")
      .A("axis", 1)
      .Infer(InferFlatten2)
      .CostIs(FreeCost)
      .Amp(kClear, "a view of its operand: no value changes")
      .Gradient("flatten2_grad")
      .Alias("onnx", "Flatten");
}

}  // namespace ampc::ops
