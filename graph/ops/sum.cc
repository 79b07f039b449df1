#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferSum(InferContext& ctx) {
  AMPC_ASSIGN_OR_RETURN(const TensorType out, AlikeOperands(ctx, "X", 2, 3));
  ctx.Out("Out", out);
  return absl::OkStatus();
}

Cost SumCost(const Op& op) { return {ResultElements(op) * static_cast<double>(op.inputs().size()), TotalBytes(op)}; }

}  // namespace

OpDef SumDef() {
  return MayOverwrite(
             OpDef("sum")
                 .Doc("Elementwise sum of any number of tensors of one shape.")
                 .VarIn("X")
                 .Out("Out")
                 .Infer(InferSum)
                 .CostIs(SumCost)
                 .Amp(kWidest, "adds in fp32 and rounds once; n operands reach at most n times the largest, so the widest of them decides")
                 .Gradient("scale scale=1")
                 .Alias("onnx", "Sum"))
      .Traits({OpTrait::kSum, OpTrait::kArithmetic})
      .BoundsAre(&SumBounds)
      .FusedStep();
}

}  // namespace ampc::ops
