#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/loss_util.h"

namespace ampc::ops {
namespace {

absl::Status InferCrossEntropy(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  AMPC_ASSIGN_OR_RETURN(TensorType loss, LossType(ctx, x, "X", -1));
  ctx.Out("Y", loss);
  return absl::OkStatus();
}

}  // namespace

OpDef CrossEntropyDef() {
  return OpDef("cross_entropy")
      .Doc("Y = -log(X[label]) per row of the probabilities X [.., classes]; with soft_label the mean of -log(X) weighted by Label.")
      .In("X")
      .In("Label")
      .Out("Y")
      .A("soft_label", false)
      .A("ignore_index", -100)
      .Infer(InferCrossEntropy)
      .CostIs(PerOperand<4>)
      .Amp(kDeny, "a probability of 2^-25 or less is 0 in f16 and its loss infinite; near 1 the rounding of 2^-12 is the whole loss")
      .GradientOp({"X Label", "Y", "X"})
      .Traits({OpTrait::kLoss});
}

}  // namespace ampc::ops
