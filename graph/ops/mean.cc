#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferMean(InferContext& ctx) {
  ctx.Out("Out", TensorType(ctx.In("X").dtype, ScalarDims(ctx, "Out")));
  return absl::OkStatus();
}

}  // namespace

OpDef MeanDef() {
  return OpDef("mean")
      .Doc("Mean of all elements of X.")
      .In("X")
      .Out("Out")
      .Infer(InferMean)
      .CostIs(PerOperand<1>)
      .Amp(kInfer, "accumulated in fp32; a mean lies between the smallest and the largest operand, so it cannot overflow")
      .GradientOp({"X", "Out", "X"})
      .Traits({OpTrait::kSum})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
