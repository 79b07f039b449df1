#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferSum(InferContext& ctx) {
  TensorType out = ctx.In("X", 0);
  for (int i = 1; i < ctx.Count("X"); ++i) {
    const TensorType& x = ctx.In("X", i);
    if (x.dtype != out.dtype && x.dtype != DType::kInvalid && out.dtype != DType::kInvalid) {
      return Fail(ctx, 1, "operand ", i, " is ", Name(x.dtype), ", needs ", Name(out.dtype), " like operand 0");
    }
    if (!x.has_rank) continue;
    if (!out.has_rank) {
      out = x;
      continue;
    }
    if (x.rank() != out.rank()) return Fail(ctx, 2, "operand ", i, " has rank ", x.rank(), ", needs ", out.rank());
    for (int d = 0; d < x.rank(); ++d) {
      if (Differ(x.dims[d], out.dims[d])) return Fail(ctx, 3, "operand ", i, " has ", x.dims[d], " at dim ", d, ", needs ", out.dims[d]);
      out.dims[d] = Merge(out.dims[d], x.dims[d]);
    }
  }
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
