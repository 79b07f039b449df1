#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {
namespace {

absl::Status InferCheckFinite(InferContext& ctx) {
  if (ctx.NumOut("Out") > 0) AMPC_RETURN_IF_ERROR(OutLikeX(ctx));
  AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "Scale", {}, 2));
  ctx.Out("FoundInfinite", TensorType(DType::kBool, {1}));
  return absl::OkStatus();
}

}  // namespace

OpDef CheckFiniteAndUnscaleDef() {
  OpDef def("check_finite_and_unscale");
  def.Doc(
         "Out = X / Scale for every gradient (by the reciprocal), and FoundInfinite: any result is inf or nan; then the contents of Out "
         "mean nothing. Without Out: FoundInfinite alone, of results in fp32 (fp64 for fp64).")
      .OptVarIn("X", kAsIs)
      .In("Scale", kAsIs)
      .OptIn("FloatStatus", kAsIs)
      .VarOut("Out", kAsIs)
      .Out("FoundInfinite", kAsIs)
      .Infer(InferCheckFinite)
      .CostIs(UnscaleCost)
      .Amp(kNever, "part of loss scaling: computes in fp32 on gradients as they are")
      .Gradient("none: runs on gradients");
  def.outputs[0].optional = true;
  for (SlotDef& slot : def.outputs) slot.overwrites = true;
  return def;
}

}  // namespace ampc::ops
