#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/optimizer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferMomentum(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(CheckOptimizer(ctx));
  AMPC_RETURN_IF_ERROR(NeedMoment(ctx, "Velocity", 6));
  const std::string how = ctx.op().GetString("regularization_method");
  if (!how.empty() && how != "l2_decay") return Fail(ctx, 7, "regularization_method is '", how, "', needs '' or l2_decay");
  OutAs(ctx, "VelocityOut", "Velocity");
  return absl::OkStatus();
}

}  // namespace

OpDef MomentumDef() {
  return Optimizer("momentum",
                   "g = Grad * rescale_grad, plus regularization_coeff * Param for l2_decay; Velocity = mu * Velocity + g; Param -= "
                   "LearningRate * Velocity, or LearningRate * (g + mu * Velocity) with use_nesterov. Nothing changes where SkipUpdate.")
      .In("Velocity", kAsIs)
      .StateOut("VelocityOut")
      .Required("mu", 0.0f)
      .A("use_nesterov", false)
      .A("regularization_method", "")
      .A("regularization_coeff", 0.0f)
      .A("rescale_grad", 1.0f)
      .Infer(InferMomentum)
      .CostIs(PerOperand<5>);
}

}  // namespace ampc::ops
