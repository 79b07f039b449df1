#include "graph/ops/infer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {
namespace {

absl::Status InferUpdateLossScaling(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(OutLikeX(ctx));
  AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "FoundInfinite", {DType::kBool}, 2));
  AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "PrevLossScaling", {DType::kF32, DType::kF64}, 3));
  AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "InGoodSteps", {DType::kI32}, 4));
  AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "InBadSteps", {DType::kI32}, 4));
  if (ctx.Has("StopUpdate")) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "StopUpdate", {DType::kBool}, 5));
  const Op& op = ctx.op();
  if (!(op.GetFloat("incr_ratio") > 1)) return Fail(ctx, 6, "incr_ratio is ", op.GetFloat("incr_ratio"), ", needs more than 1");
  if (!(op.GetFloat("decr_ratio") > 0 && op.GetFloat("decr_ratio") < 1)) {
    return Fail(ctx, 7, "decr_ratio is ", op.GetFloat("decr_ratio"), ", needs more than 0 and less than 1");
  }
  const double least = op.GetFloat("min_loss_scaling"), most = op.GetFloat("max_loss_scaling");
  if (!(least > 0)) return Fail(ctx, 8, "min_loss_scaling is ", least, ", needs more than 0");
  if (!(most == 0 || most >= least)) return Fail(ctx, 9, "max_loss_scaling is ", most, ", needs 0 or at least min_loss_scaling, ", least);
  ctx.Out("LossScaling", ctx.In("PrevLossScaling"));
  ctx.Out("OutGoodSteps", ctx.In("InGoodSteps"));
  ctx.Out("OutBadSteps", ctx.In("InBadSteps"));
  return absl::OkStatus();
}

}  // namespace

OpDef UpdateLossScalingDef() {
  OpDef def("update_loss_scaling");
  def.Doc(
         "Zeroes the gradients X where FoundInfinite, and moves the scale: times incr_ratio after incr_every_n_steps good steps in a row, "
         "times decr_ratio (not below min_loss_scaling) after decr_every_n_nan_or_inf bad ones; not above max_loss_scaling unless that is "
         "0. "
         "stop_update or StopUpdate keeps the scale and the counters.")
      .OptVarIn("X", kAsIs)
      .In("FoundInfinite", kAsIs)
      .In("PrevLossScaling", kAsIs)
      .In("InGoodSteps", kAsIs)
      .In("InBadSteps", kAsIs)
      .OptIn("StopUpdate", kAsIs)
      .VarOut("Out", kAsIs)
      .StateOut("LossScaling")
      .StateOut("OutGoodSteps")
      .StateOut("OutBadSteps")
      .Required("incr_every_n_steps", 0)
      .Required("decr_every_n_nan_or_inf", 0)
      .Required("incr_ratio", 0.0f)
      .Required("decr_ratio", 0.0f)
      .A("stop_update", false)
      .A("min_loss_scaling", 1.0f)
      .A("max_loss_scaling", 0.0f)
      .Infer(InferUpdateLossScaling)
      .CostIs(UnscaleCost)
      .Amp(kNever, "part of loss scaling: scale and counters stay as they are")
      .Gradient("none: runs on gradients")
      .Impure();
  def.outputs[0].optional = true;
  def.outputs[0].overwrites = true;
  return def;
}

}  // namespace ampc::ops
