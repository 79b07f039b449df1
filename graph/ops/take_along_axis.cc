#include "graph/ops/bounds.h"
#include "graph/ops/index_util.h"

namespace ampc::ops {
namespace {

absl::Status InferTakeAlongAxis(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "Index", 1));
  const TensorType& x = ctx.In("Input");
  const TensorType& index = ctx.In("Index");
  if (x.has_rank && index.has_rank) {
    AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, {ctx.op().GetInt("Axis")}, x.rank(), 2));
    Dims want = x.dims;
    if (index.rank() == x.rank()) want[axes[0]] = index.dims[axes[0]];
    AMPC_RETURN_IF_ERROR(NeedDims(ctx, "Index", want, 3));
  }
  ctx.Out("Result", index.WithDType(x.dtype));
  return absl::OkStatus();
}

}  // namespace

OpDef TakeAlongAxisDef() {
  return OpDef("take_along_axis")
      .Doc(
          "Result[.., i, ..] = Input[.., Index[.., i, ..], ..], where the position along 'Axis' is the index. Where 'from_end', -1 is the "
          "last one.")
      .In("Input")
      .In("Index", kAsIs)
      .Out("Result")
      .Required("Axis", int32_t{0})
      .A("from_end", false)
      .Infer(InferTakeAlongAxis)
      .CostIs([](const Op& op) { return IndexCost(op, "Index"); })
      .Amp(kClear, "moves values without arithmetic; the index keeps its type")
      .GradientOp({"Input Index", "Result", "Input"})
      .Alias("onnx", "GatherElements")
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
