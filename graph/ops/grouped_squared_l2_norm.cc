#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferGroupedNorm(InferContext& ctx) {
  if (ctx.NumOut("Out") != ctx.Count("X")) {
    return Fail(ctx, 1, "Out has ", ctx.NumOut("Out"), " results, needs ", ctx.Count("X"), ", one per operand of X");
  }
  const DType to = ctx.op().GetDType("out_dtype");
  for (int i = 0; i < ctx.Count("X"); ++i) {
    const DType x = ctx.In("X", i).dtype;
    if (x != DType::kInvalid && !IsFloat(x)) return Fail(ctx, 2, "operand ", i, " of X is ", Name(x), ", needs a floating-point type");
    ctx.Out("Out", i, TensorType(to == DType::kInvalid ? x : to, {1}));
  }
  return absl::OkStatus();
}

}  // namespace

OpDef GroupedSquaredL2NormDef() {
  return OpDef("grouped_squared_l2_norm")
      .Doc("squared_l2_norm of each X: what a plan makes of several of them side by side.")
      .VarIn("X", kAsIs)
      .VarOut("Out", kAsIs)
      .DTypeAttr("out_dtype", DType::kInvalid, false)
      .Infer(InferGroupedNorm)
      .CostIs(PerOperand<2>)
      .Amp(kNever, "measures gradients as they are; in f16 the sum overflows from a norm of 256 on")
      .Gradient("none: runs on gradients");
}

}  // namespace ampc::ops
