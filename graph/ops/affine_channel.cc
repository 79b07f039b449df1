#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/window.h"

namespace ampc::ops {
namespace {

absl::Status InferAffineChannel(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 2, 4, 1));
  const std::string layout = ctx.op().GetString("data_layout");
  if (layout != "NCHW" && layout != "NHWC" && layout != "AnyLayout") {
    return Fail(ctx, 2, "data_layout is '", layout, "', needs NCHW or NHWC");
  }
  const TensorType& x = ctx.In("X");
  const int64_t channels = x.has_rank ? x.dims[layout == "NCHW" ? 1 : x.rank() - 1] : kUnknownDim;
  for (const char* slot : {"Scale", "Bias"}) AMPC_RETURN_IF_ERROR(NeedPerChannel(ctx, slot, channels, x.dtype, true, 3));
  ctx.Out("Out", x);
  return absl::OkStatus();
}

}  // namespace

OpDef AffineChannelDef() {
  return OpDef("affine_channel")
      .Doc("Scale * X + Bias per channel: a batch_norm whose statistics are folded. Channels lie last unless data_layout is NCHW.")
      .In("X")
      .In("Scale", kFp32)
      .In("Bias", kFp32)
      .Out("Out")
      .A("data_layout", "AnyLayout")
      .Infer(InferAffineChannel)
      .CostIs(PerOperand<2>)
      .Amp(kInfer, "X and Out may be low: scale and bias stay fp32, since 1 / sqrt(variance) of 1e-11 is 3e5 and beyond f16")
      .GradientOp({"X Scale", "Out", "X Scale Bias", "Scale"})
      .NotLowOnCuda();
}

}  // namespace ampc::ops
