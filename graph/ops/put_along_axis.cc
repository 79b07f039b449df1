#include "graph/ops/index_util.h"
#include "graph/ops/scatter_util.h"

namespace ampc::ops {
namespace {

absl::Status InferPutAlongAxis(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "Index", 1));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "Input", "Value", 2));
  const TensorType& x = ctx.In("Input");
  const TensorType& index = ctx.In("Index");
  if (x.has_rank && index.has_rank) {
    AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, {ctx.op().GetInt("Axis")}, x.rank(), 3));
    if (index.rank() != x.rank()) return Fail(ctx, 4, "Index has rank ", index.rank(), ", needs ", x.rank(), " like Input");
    for (int i = 0; i < x.rank(); ++i) {
      if (i == axes[0] || !IsKnown(x.dims[i]) || !IsKnown(index.dims[i]) || index.dims[i] <= x.dims[i]) continue;
      return Fail(ctx, 4, "Index has ", index.dims[i], " at dim ", i, ", needs at most ", x.dims[i]);
    }
    AMPC_RETURN_IF_ERROR(NeedDims(ctx, "Value", index.dims, 5));
  }
  AMPC_RETURN_IF_ERROR(NeedReduction(ctx, "Reduce", 6));
  ctx.Out("Result", TensorType(x));
  return absl::OkStatus();
}

}  // namespace

OpDef PutAlongAxisDef() {
  return OpDef("put_along_axis")
      .Doc(
          "Input where Value[.., i, ..] is written to, or by 'Reduce' (none, add, mul, max, min) joined with, [.., Index[.., i, ..], ..], "
          "where "
          "the position along 'Axis' is the index, one after the other. Where 'from_end', -1 is the last one.")
      .In("Input")
      .In("Index", kAsIs)
      .In("Value")
      .Out("Result")
      .Required("Axis", int32_t{0})
      .A("Reduce", "none")
      .A("from_end", true)
      .Infer(InferPutAlongAxis)
      .CostIs([](const Op& op) { return IndexCost(op, "Index"); })
      .Amp(kDeny, "joins as many values as have the same index: a sum of ones in f16 stops at 2048")
      .Gradient("none: which value of a position counts depends on their order")
      .Alias("onnx", "ScatterElements");
}

}  // namespace ampc::ops
