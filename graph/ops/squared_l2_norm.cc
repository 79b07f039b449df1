#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferSquaredNorm(InferContext& ctx) {
  const DType x = ctx.In("X").dtype;
  if (x != DType::kInvalid && !IsFloat(x)) return Fail(ctx, 1, "X is ", Name(x), ", needs a floating-point type");
  const DType to = ctx.op().GetDType("out_dtype");
  TensorType out = RankZero(to == DType::kInvalid ? x : to);
  out.dims = {1};
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef SquaredL2NormDef() {
  return OpDef("squared_l2_norm")
      .Doc("Out = the sum of X^2 over all elements, added up in f32 and rounded once to out_dtype, or the type of X without it.")
      .In("X", kAsIs)
      .Out("Out", kAsIs)
      .DTypeAttr("out_dtype", DType::kInvalid, false)
      .Infer(InferSquaredNorm)
      .CostIs(PerOperand<2>)
      .Amp(kNever, "measures gradients as they are; in f16 the sum overflows from a norm of 256 on")
      .Gradient("none: runs on gradients");
}

}  // namespace ampc::ops
