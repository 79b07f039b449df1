#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferClipByNorm(InferContext& ctx) {
  if (!(ctx.op().GetFloat("max_norm") > 0)) return Fail(ctx, 1, "max_norm is ", ctx.op().GetFloat("max_norm"), ", needs more than 0");
  return InferSame(ctx);
}

}  // namespace

OpDef ClipByNormDef() {
  return OpDef("clip_by_norm")
      .Doc("Out = X where |X|, the root of the sum of squares, is at most max_norm, else X * (max_norm / |X|).")
      .In("X", kAsIs)
      .Out("Out", kAsIs)
      .Required("max_norm", 0.0f)
      .Infer(InferClipByNorm)
      .CostIs(PerOperand<3>)
      .Amp(kNever, "clips gradients as they are; the norm is added up in f32")
      .Gradient("none: runs on gradients");
}

}  // namespace ampc::ops
