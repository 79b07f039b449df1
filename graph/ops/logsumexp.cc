#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferLogsumexp(InferContext& ctx) {
  const ShapeArg axis = ReadShapeArg(ctx, "", "", "axis");
  return InferReduced(ctx, ctx.In("X").dtype, axis, ctx.op().GetBool("reduce_all"), ctx.op().GetBool("keepdim"));
}

}  // namespace

OpDef LogsumexpDef() {
  return OpDef("logsumexp")
      .Doc("The logarithm of the sum of exp(X) over the axes 'axis', or over all; the largest element is subtracted first.")
      .In("X")
      .Out("Out")
      .A("axis", Ints{0})
      .A("keepdim", false)
      .A("reduce_all", false)
      .Infer(InferLogsumexp)
      .CostIs(PerOperand<6>)
      .Amp(kDeny, "it differs from the largest operand by the logarithm of a sum, which f16 steps of 0.5 near 1000 swallow")
      .GradientOp({"X Out", "Out", "X"})
      .Alias("onnx", "ReduceLogSumExp");
}

}  // namespace ampc::ops
