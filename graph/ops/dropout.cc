#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {
namespace {

absl::Status InferDropout(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  const double p = ctx.op().GetFloat("dropout_prob");
  if (!(p >= 0 && p <= 1)) return Fail(ctx, 1, "dropout_prob is ", p, ", needs 0 to 1");
  const std::string how = ctx.op().GetString("dropout_implementation");
  if (how != "downgrade_in_infer" && how != "upscale_in_train") {
    return Fail(ctx, 2, "dropout_implementation is '", how, "', needs downgrade_in_infer or upscale_in_train");
  }
  if (ctx.Has("Seed")) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "Seed", {}, 3));
  ctx.Out("Out", x);
  ctx.Out("Mask", x.WithDType(DType::kU8));
  return absl::OkStatus();
}

}  // namespace

OpDef DropoutDef() {
  return OpDef("dropout")
      .Doc(
          "Training: drops elements with dropout_prob and remembers the kept ones in Mask; upscale_in_train divides the kept ones by "
          "1 - dropout_prob. is_test: X, times 1 - dropout_prob for downgrade_in_infer.")
      .In("X")
      .OptIn("Seed", kAsIs)
      .Out("Out")
      .OptOut("Mask", kAsIs)
      .A("dropout_prob", 0.5f)
      .A("is_test", false)
      .A("fix_seed", false)
      .A("seed", 0)
      .A("dropout_implementation", "downgrade_in_infer")
      .Infer(InferDropout)
      .CostIs(PerResult<2>)
      .Amp(kInfer, "one multiplication by at most 1 / (1 - dropout_prob), rounded once; the mask is exact")
      .GradientOp({"Mask", "Out", "X"})
      .Impure();
}

}  // namespace ampc::ops
