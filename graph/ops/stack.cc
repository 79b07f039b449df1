#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferStack(InferContext& ctx) {
  AMPC_ASSIGN_OR_RETURN(TensorType out, AlikeOperands(ctx, "X", 2, 2));
  out.lod_level = 0;
  if (out.has_rank) {
    AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, {ctx.op().GetInt("axis")}, out.rank() + 1, 3));
    out.dims.insert(out.dims.begin() + axes[0], ctx.Count("X"));
  }
  ctx.Out("Y", out);
  return absl::OkStatus();
}

}  // namespace

OpDef StackDef() {
  return OpDef("stack")
      .Doc("Operands of one shape along a new dimension at 'axis'.")
      .VarIn("X")
      .Out("Y")
      .A("axis", 0)
      .Infer(InferStack)
      .CostIs(MoveCost)
      .Amp(kWidest, "moves values without arithmetic, but its operands must have one type: narrowing a wide one would round it")
      .GradientOp({"X", "Y", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
