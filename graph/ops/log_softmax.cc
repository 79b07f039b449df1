#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferLogSoftmax(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  if (x.has_rank && x.rank() > 0) AMPC_RETURN_IF_ERROR(Axes(ctx, {ctx.op().GetInt("axis")}, x.rank(), 1).status());
  return InferSame(ctx);
}

}  // namespace

OpDef LogSoftmaxDef() {
  return OpDef("log_softmax")
      .Doc("X minus the logarithm of the sum of exp(X) along 'axis'; the largest element is subtracted first.")
      .In("X")
      .Out("Out")
      .A("axis", -1)
      .Infer(InferLogSoftmax)
      .CostIs(PerResult<8>)
      .Amp(kDeny, "a log-probability near -1000 is off by up to 0.25 in f16, one above -2^-25 is 0: sums of them lose their order")
      .GradientOp({"Out", "Out", "X"})
      .Alias("onnx", "LogSoftmax")
      .Traits({OpTrait::kBounded})
      .BoundsAre(&NotPositive);
}

}  // namespace ampc::ops
