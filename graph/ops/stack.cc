#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferStack(InferContext& ctx) {
  TensorType out = ctx.In("X", 0);
  for (int i = 1; i < ctx.Count("X"); ++i) {
    const TensorType& x = ctx.In("X", i);
    if (x.dtype != out.dtype && x.dtype != DType::kInvalid && out.dtype != DType::kInvalid) {
      return Fail(ctx, 1, "operand ", i, " is ", Name(x.dtype), ", needs ", Name(out.dtype), " like operand 0");
    }
    if (!x.has_rank) continue;
    if (!out.has_rank) out = x.WithDType(out.dtype);
    if (x.rank() != out.rank()) return Fail(ctx, 2, "operand ", i, " has rank ", x.rank(), ", needs ", out.rank());
    for (int d = 0; d < x.rank(); ++d) {
      if (Differ(x.dims[d], out.dims[d])) return Fail(ctx, 2, "operand ", i, " has ", x.dims[d], " at dim ", d, ", needs ", out.dims[d]);
      out.dims[d] = Merge(out.dims[d], x.dims[d]);
    }
  }
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
