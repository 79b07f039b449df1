#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/optimizer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {
namespace {

absl::Status InferAdam(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(CheckOptimizer(ctx));
  for (const char* slot : {"Moment1", "Moment2"}) AMPC_RETURN_IF_ERROR(NeedMoment(ctx, slot, 6));
  for (const char* slot : {"Beta1Pow", "Beta2Pow"}) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, slot, {DType::kF32, DType::kF64}, 7));
  for (const char* slot : {"Beta1Tensor", "Beta2Tensor", "EpsilonTensor"}) {
    if (ctx.Has(slot)) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, slot, {DType::kF32, DType::kF64}, 8));
  }
  OutAs(ctx, "Moment1Out", "Moment1");
  OutAs(ctx, "Moment2Out", "Moment2");
  OutAs(ctx, "Beta1PowOut", "Beta1Pow");
  OutAs(ctx, "Beta2PowOut", "Beta2Pow");
  return absl::OkStatus();
}

}  // namespace

OpDef AdamDef() {
  return Optimizer("adam",
                   "m = beta1 * Moment1 + (1 - beta1) * Grad; v = beta2 * Moment2 + (1 - beta2) * Grad^2; Param -= LearningRate * "
                   "sqrt(1 - Beta2Pow) / (1 - Beta1Pow) * m / (sqrt(v) + epsilon * sqrt(1 - Beta2Pow)); Beta1Pow *= beta1, Beta2Pow *= "
                   "beta2 unless use_global_beta_pow. Nothing changes where SkipUpdate.")
      .In("Moment1", kAsIs)
      .In("Moment2", kAsIs)
      .In("Beta1Pow", kAsIs)
      .In("Beta2Pow", kAsIs)
      .OptIn("Beta1Tensor", kAsIs)
      .OptIn("Beta2Tensor", kAsIs)
      .OptIn("EpsilonTensor", kAsIs)
      .StateOut("Moment1Out")
      .StateOut("Moment2Out")
      .StateOut("Beta1PowOut")
      .StateOut("Beta2PowOut")
      .A("beta1", 0.9f)
      .A("beta2", 0.999f)
      .A("epsilon", 1e-8f)
      .A("lazy_mode", false)
      .A("min_row_size_to_use_multithread", int64_t{1000})
      .A("use_global_beta_pow", false)
      .Infer(InferAdam)
      .CostIs(PerOperand<15>);
}

}  // namespace ampc::ops
