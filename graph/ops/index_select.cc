#include "graph/ops/bounds.h"
#include "graph/ops/index_util.h"

namespace ampc::ops {
namespace {

absl::Status InferIndexSelect(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "Index", 1));
  AMPC_RETURN_IF_ERROR(NeedIndexList(ctx, "Index", 2));
  const TensorType& x = ctx.In("X");
  const TensorType& index = ctx.In("Index");
  if (!x.has_rank) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, {ctx.op().GetInt("dim")}, x.rank(), 3));
  TensorType out(x.dtype, x.dims);
  out.dims[axes[0]] = !index.has_rank ? kUnknownDim : index.rank() == 0 ? 1 : index.dims[0];
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef IndexSelectDef() {
  return OpDef("index_select")
      .Doc("The slices of X along 'dim' that Index names.")
      .In("X")
      .In("Index", kAsIs)
      .Out("Out")
      .A("dim", 0)
      .Infer(InferIndexSelect)
      .CostIs([](const Op& op) { return IndexCost(op, "Index"); })
      .Amp(kClear, "moves values without arithmetic; the index keeps its type")
      .GradientOp({"X Index", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
