#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferGather(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "Index", 1));
  const TensorType& x = ctx.In("X");
  const TensorType& index = ctx.In("Index");
  if (index.has_rank && (index.rank() > 2 || (index.rank() == 2 && Differ(index.dims[1], 1)))) {
    return Fail(ctx, 2, "Index is ", ToString(index), ", needs rank 0 or 1, or [n, 1]");
  }
  AMPC_ASSIGN_OR_RETURN(const std::optional<int64_t> axis, ReadIntArg(ctx, "Axis", "axis", 4));
  if (!x.has_rank || !index.has_rank || !axis.has_value()) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, {*axis}, x.rank(), 3));
  Dims out(x.dims.begin(), x.dims.begin() + axes[0]);
  if (index.rank() > 0) out.push_back(index.dims[0]);
  out.insert(out.end(), x.dims.begin() + axes[0] + 1, x.dims.end());
  ctx.Out("Out", TensorType(x.dtype, out));
  return absl::OkStatus();
}

}  // namespace

OpDef GatherDef() {
  return OpDef("gather")
      .Doc("The slices of X along 'axis' that Index names. Where 'from_end', -1 names the last one.")
      .In("X")
      .In("Index", kAsIs)
      .HostIn("Axis")
      .Out("Out")
      .A("axis", 0)
      .A("overwrite", true)
      .A("from_end", false)
      .Infer(InferGather)
      .CostIs([](const Op& op) {
        return Cost{0, 2 * Bytes(op.outputs()[0]->type) + Bytes(op.input("Index")->type)};
      })
      .Amp(kClear, "moves values without arithmetic; the index keeps its type")
      .GradientOp({"X Index Axis", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
