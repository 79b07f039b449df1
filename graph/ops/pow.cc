#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {

namespace {

absl::Status InferPow(InferContext& ctx) {
  if (ctx.Has("FactorTensor")) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "FactorTensor", {}, 1));
  return InferSame(ctx);
}

}  // namespace

OpDef PowDef() {
  OpDef def("pow");
  return def.Doc("Out = X raised to 'factor'; the one-element FactorTensor replaces the attribute.")
      .In("X")
      .OptIn("FactorTensor", kAsIs)
      .Out("Out")
      .A("factor", 1.0f)
      .Infer(InferPow)
      .CostIs(PerResult<8>)
      .Amp(kDeny, "256^2 is above 65504; the operand's relative error of 2^-11 is multiplied by the exponent")
      .GradientOp({"X FactorTensor", "Out", "X"})
      .Traits({OpTrait::kSteepAtZero, OpTrait::kPower})
      .FusedStep();
}

}  // namespace ampc::ops
