#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/loss_util.h"

namespace ampc::ops {
namespace {

absl::Status InferSoftmaxWithCrossEntropy(InferContext& ctx) {
  const TensorType& logits = ctx.In("Logits");
  AMPC_ASSIGN_OR_RETURN(TensorType loss, LossType(ctx, logits, "Logits", ctx.op().GetInt("axis")));
  ctx.Out("Softmax", logits);
  ctx.Out("Loss", loss);
  return absl::OkStatus();
}

}  // namespace

OpDef SoftmaxWithCrossEntropyDef() {
  return OpDef("softmax_with_cross_entropy")
      .Doc(
          "Loss = -log(softmax(Logits)[label]) along 'axis', and the softmax; with soft_label the mean weighted by Label. Without "
          "use_softmax "
          "Logits are probabilities already.")
      .In("Logits")
      .In("Label")
      .Out("Softmax")
      .Out("Loss")
      .A("soft_label", false)
      .A("use_softmax", true)
      .A("numeric_stable_mode", true)
      .A("ignore_index", -100)
      .A("axis", -1)
      .Infer(InferSoftmaxWithCrossEntropy)
      .CostIs(PerOperand<10>)
      .Amp(kDeny, "losses are summed and scaled by 32768 and more afterwards, which leaves f16 above 65504 for a loss of 2")
      .GradientOp({"Label Softmax", "Loss", "Logits", "Softmax"})
      .Traits({OpTrait::kLoss});
}

}  // namespace ampc::ops
