#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/learning_rate.h"
#include "graph/ops/optimizer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {
namespace {

absl::Status InferLrSchedule(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "LearningRate", {DType::kF32, DType::kF64}, 1));
  AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "Step", {DType::kI64}, 2));
  if (ctx.Has("SkipUpdate")) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "SkipUpdate", {DType::kBool}, 3));
  if (const absl::Status rule = ReadLearningRate(ctx.op()).Check(); !rule.ok()) return Fail(ctx, 4, rule.message());
  OutAs(ctx, "LearningRateOut", "LearningRate");
  OutAs(ctx, "StepOut", "Step");
  return absl::OkStatus();
}

}  // namespace

OpDef LrScheduleDef() {
  OpDef def("lr_schedule");
  def.Doc(
         "Ends a step: Step + 1, and the learning rate of that step. kind is constant (base), piecewise (values[i] before step "
         "boundaries[i]) or cosine (base to least in 'steps' steps), after warm_up_steps that rise from warm_up_from to warm_up_to. "
         "Nothing changes where SkipUpdate.")
      .In("LearningRate", kAsIs)
      .In("Step", kAsIs)
      .OptIn("SkipUpdate", kAsIs)
      .Out("LearningRateOut", kAsIs)
      .Out("StepOut", kAsIs)
      .Required("kind", "")
      .A("base", 0.0)
      .A("boundaries", Longs{})
      .A("values", std::vector<double>{})
      .A("steps", int64_t{0})
      .A("least", 0.0)
      .A("warm_up_steps", int64_t{0})
      .A("warm_up_from", 0.0)
      .A("warm_up_to", 0.0)
      .Infer(InferLrSchedule)
      .CostIs(FreeCost)
      .Amp(kNever, "one number per step, in fp32: a rate below 6e-8 has no f16")
      .Gradient("none: a number of the optimizer")
      .Impure();
  for (SlotDef& slot : def.outputs) slot.overwrites = true;
  return def;
}

}  // namespace ampc::ops
