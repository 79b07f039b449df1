#include <algorithm>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/window.h"

namespace ampc::ops {
namespace {

absl::Status InferGroupNorm(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 2, 9, 1));
  const std::string layout = ctx.op().GetString("data_layout");
  if (layout != "NCHW" && layout != "NHWC" && layout != "NCDHW" && layout != "NDHWC" && layout != "AnyLayout") {
    return Fail(ctx, 2, "data_layout is '", layout, "', needs NCHW, NHWC, NCDHW or NDHWC");
  }
  const int64_t groups = ctx.op().GetInt("groups");
  if (groups < 1) return Fail(ctx, 3, "groups is ", groups, ", needs a positive number");
  const TensorType& x = ctx.In("X");
  const int64_t channels = x.has_rank ? x.dims[ChannelsLast(layout) ? x.rank() - 1 : 1] : kUnknownDim;
  if (IsKnown(channels) && (channels % groups != 0 || groups > std::max<int64_t>(channels, 1))) {
    return Fail(ctx, 4, "X has ", channels, " channels, needs a multiple of ", groups, " groups");
  }
  for (const char* slot : {"Scale", "Bias"}) AMPC_RETURN_IF_ERROR(NeedPerChannel(ctx, slot, channels, x.dtype, true, 5));
  ctx.Out("Y", x);
  const TensorType stats(StatDType(x.dtype), {x.has_rank ? x.dims[0] : kUnknownDim, groups});
  // Programs that Paddle rewrote declare low ones where X is low.
  OutDeclared(ctx, "Mean", stats);
  OutDeclared(ctx, "Variance", stats);
  return absl::OkStatus();
}

}  // namespace

OpDef GroupNormDef() {
  return OpDef("group_norm")
      .Doc(
          "Y = Scale * (X - mean) / sqrt(variance + epsilon) + Bias per channel, with the mean and variance of each image's groups of "
          "channels.")
      .In("X")
      .OptIn("Scale", kFp32)
      .OptIn("Bias", kFp32)
      .Out("Y")
      .OptOut("Mean", kFp32)
      .OptOut("Variance", kFp32)
      .A("epsilon", 1e-5f)
      .Required("groups", 1)
      .A("data_layout", "NCHW")
      .Infer(InferGroupNorm)
      .CostIs(PerOperand<8>)
      .Amp(kInfer,
           "X and Y may be low: a group's squares are summed in fp32, where 256 elements of 16 are 65536 and beyond f16; scale and bias "
           "stay fp32")
      .GradientOp({"X Y? Scale Bias Mean Variance", "Y", "X Scale Bias"})
      .Alias("onnx", "GroupNormalization")
      .Traits({OpTrait::kBounded, OpTrait::kNormalized})
      .Weights(WeightUse::kGroupNorm);
}

}  // namespace ampc::ops
