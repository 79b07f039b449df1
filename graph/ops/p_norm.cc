#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferPNorm(InferContext& ctx) {
  const bool all = ctx.op().GetBool("asvector");
  const int64_t axis = ctx.op().GetInt("axis");
  return InferReduced(ctx, ctx.In("X").dtype, ShapeArg({{axis}}), all, ctx.op().GetBool("keepdim"));
}

}  // namespace

OpDef PNormDef() {
  return OpDef("p_norm")
      .Doc(
          "The norm of order 'porder' along 'axis', or of all elements as one vector; inf and -inf take the largest and smallest |x|, "
          "0 counts what is not 0.")
      .In("X")
      .Out("Out")
      .A("porder", 2.0f)
      .A("axis", -1)
      .A("epsilon", 1e-12f)
      .A("keepdim", false)
      .A("asvector", false)
      .Infer(InferPNorm)
      .CostIs(PerOperand<3>)
      .Amp(kDeny, "1024 values of 2048 have the norm 65536, above 65504; fp32 inside does not help the result")
      .GradientOp({"X Out", "Out", "X"});
}

}  // namespace ampc::ops
