#include "graph/ops/adam_util.h"

#include <utility>

#include "graph/ops/infer_util.h"
#include "graph/ops/optimizer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {

absl::Status InferMoments(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(CheckOptimizer(ctx));
  for (const char* slot : {"Moment1", "Moment2"}) AMPC_RETURN_IF_ERROR(NeedMoment(ctx, slot, 6));
  for (const char* slot : {"Beta1Pow", "Beta2Pow"}) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, slot, {DType::kF32, DType::kF64}, 7));
  OutAs(ctx, "Moment1Out", "Moment1");
  OutAs(ctx, "Moment2Out", "Moment2");
  OutAs(ctx, "Beta1PowOut", "Beta1Pow");
  OutAs(ctx, "Beta2PowOut", "Beta2Pow");
  return absl::OkStatus();
}

OpDef WithMoments(std::string name, std::string doc, float epsilon) {
  return Optimizer(std::move(name), std::move(doc))
      .In("Moment1", kAsIs)
      .In("Moment2", kAsIs)
      .In("Beta1Pow", kAsIs)
      .In("Beta2Pow", kAsIs)
      .StateOut("Moment1Out")
      .StateOut("Moment2Out")
      .StateOut("Beta1PowOut")
      .StateOut("Beta2PowOut")
      .A("beta1", 0.9f)
      .A("beta2", 0.999f)
      .A("epsilon", epsilon)
      .Infer(InferMoments);
}

absl::Status InferAdamLike(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(InferMoments(ctx));
  for (const char* slot : {"Beta1Tensor", "Beta2Tensor", "EpsilonTensor"}) {
    if (ctx.Has(slot)) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, slot, {DType::kF32, DType::kF64}, 8));
  }
  return absl::OkStatus();
}

OpDef AdamLike(std::string name, std::string doc) {
  return WithMoments(std::move(name), std::move(doc), 1e-8f)
      .OptIn("Beta1Tensor", kAsIs)
      .OptIn("Beta2Tensor", kAsIs)
      .OptIn("EpsilonTensor", kAsIs)
      .A("lazy_mode", false)
      .A("min_row_size_to_use_multithread", int64_t{1000})
      .A("use_global_beta_pow", false)
      .Infer(InferAdamLike);
}

}  // namespace ampc::ops
