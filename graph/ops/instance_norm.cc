#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferInstanceNorm(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 2, 5, 1));
  const TensorType& x = ctx.In("X");
  const int64_t channels = x.has_rank ? x.dims[1] : kUnknownDim;
  for (const char* slot : {"Scale", "Bias"}) AMPC_RETURN_IF_ERROR(NeedPerChannel(ctx, slot, channels, x.dtype, true, 2));
  ctx.Out("Y", x);
  const TensorType stats(StatDType(x.dtype), {x.has_rank ? Product(Slice(x.dims, 0, 2)) : kUnknownDim});
  // Programs that Paddle rewrote declare low ones where X is low.
  OutDeclared(ctx, "SavedMean", stats);
  OutDeclared(ctx, "SavedVariance", stats);
  return absl::OkStatus();
}

}  // namespace

OpDef InstanceNormDef() {
  return OpDef("instance_norm")
      .Doc(
          "Y = Scale * (X - mean) / sqrt(variance + epsilon) + Bias per channel, with the mean and variance of each image's channel; "
          "SavedVariance is 1 / sqrt(variance + epsilon).")
      .In("X")
      .OptIn("Scale", kFp32)
      .OptIn("Bias", kFp32)
      .Out("Y")
      .OptOut("SavedMean", kFp32)
      .OptOut("SavedVariance", kFp32)
      .A("epsilon", 1e-5f)
      .Infer(InferInstanceNorm)
      .CostIs(PerOperand<8>)
      .Amp(kInfer,
           "X and Y may be low: a channel's squares are summed in fp32, where 256 elements of 16 are 65536 and beyond f16; scale and bias "
           "stay fp32")
      .GradientOp({"X Scale SavedMean SavedVariance", "Y", "X Scale Bias", "Scale"})
      .Alias("onnx", "InstanceNormalization")
      .Traits({OpTrait::kBounded, OpTrait::kNormalized})
      .Weights(WeightUse::kInstanceNorm);
}

}  // namespace ampc::ops
