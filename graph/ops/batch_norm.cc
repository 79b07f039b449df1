#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/window.h"

namespace ampc::ops {
namespace {

absl::Status InferBatchNorm(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 2, 5, 1));
  const std::string layout = ctx.op().GetString("data_layout");
  if (layout != "NCHW" && layout != "NHWC" && layout != "NCDHW" && layout != "NDHWC" && layout != "AnyLayout") {
    return Fail(ctx, 2, "data_layout is '", layout, "', needs NCHW, NHWC, NCDHW or NDHWC");
  }
  const TensorType& x = ctx.In("X");
  int64_t channels = kUnknownDim;
  if (x.has_rank) channels = x.dims[ChannelsLast(layout) ? x.rank() - 1 : 1];
  for (const char* slot : {"Scale", "Bias", "Mean", "Variance"}) {
    AMPC_RETURN_IF_ERROR(NeedPerChannel(ctx, slot, channels, x.dtype, false, 3));
    if (ctx.In(slot).has_rank) channels = Merge(channels, ctx.In(slot).dims[0]);
  }
  ctx.Out("Y", x);
  const TensorType stats(StatDType(x.dtype), {channels});
  for (const char* slot : {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"}) ctx.Out(slot, stats);
  // Scratch of a library, of any shape and type; where nothing says how much, a run needs none.
  OutDeclared(ctx, "ReserveSpace", TensorType(x.dtype, {x.IsStatic() ? 0 : kUnknownDim}));
  return absl::OkStatus();
}

}  // namespace

OpDef BatchNormDef() {
  return OpDef("batch_norm")
      .Doc(
          "Y = Scale * (X - mean) / sqrt(variance + epsilon) + Bias per channel; mean and variance are those of the batch in training and "
          "Mean, Variance where is_test or use_global_stats. Training moves MeanOut and VarianceOut by 'momentum' and saves the batch's "
          "own.")
      .In("X")
      .In("Scale", kFp32)
      .In("Bias", kFp32)
      .In("Mean", kFp32)
      .In("Variance", kFp32)
      .OptIn("MomentumTensor", kAsIs)
      .Out("Y")
      .StateOut("MeanOut")
      .StateOut("VarianceOut")
      .OptOut("SavedMean", kFp32)
      .OptOut("SavedVariance", kFp32)
      .OptOut("ReserveSpace", kAsIs)
      .A("is_test", false)
      .A("momentum", 0.9f)
      .A("epsilon", 1e-5f)
      .A("data_layout", "NCHW")
      .A("use_global_stats", false)
      .A("trainable_statistics", false)
      .Extra("fuse_with_relu", false)
      .Infer(InferBatchNorm)
      .CostIs(PerOperand<5>)
      .Amp(kInfer, "X and Y may be low: statistics, scale and bias stay fp32 and the batch is accumulated in fp32")
      .GradientOp({"X Scale Bias MeanOut? VarianceOut? SavedMean SavedVariance ReserveSpace?", "Y", "X Scale Bias"})
      .Alias("onnx", "BatchNormalization")
      .Weights(WeightUse::kBatchNorm);
}

}  // namespace ampc::ops
