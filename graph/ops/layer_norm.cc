#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferLayerNorm(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  const int64_t begin = ctx.op().GetInt("begin_norm_axis");
  ctx.Out("Y", x);
  TensorType stats = TensorType::Unranked(StatDType(x.dtype));
  int64_t size = kUnknownDim;
  if (x.has_rank) {
    if (begin < 1 || begin >= x.rank())
      return Fail(ctx, 1, "begin_norm_axis is ", begin, ", needs at least 1 and below ", x.rank(), ", the rank of X");
    size = Product(Slice(x.dims, begin, x.rank()));
    stats = TensorType(stats.dtype, {Product(Slice(x.dims, 0, begin))});
  }
  AMPC_RETURN_IF_ERROR(NeedPerChannel(ctx, "Scale", size, x.dtype, true, 2));
  AMPC_RETURN_IF_ERROR(NeedPerChannel(ctx, "Bias", size, x.dtype, true, 3));
  // One number per normalised row; Paddle declares them flat before 2.5 and with the leading dims of X since.
  for (const char* slot : {"Mean", "Variance"}) {
    const Var* var = ctx.op().output(slot);
    if (x.has_rank && var != nullptr && var->type.has_rank && var->type.rank() == begin) {
      const DType declared = var->type.dtype;
      ctx.Out(slot, TensorType(declared == DType::kInvalid ? stats.dtype : declared, Dims(x.dims.begin(), x.dims.begin() + begin)));
    } else {
      OutDeclared(ctx, slot, stats);
    }
  }
  return absl::OkStatus();
}

}  // namespace

OpDef LayerNormDef() {
  return OpDef("layer_norm")
      .Doc(
          "Y = Scale * (X - mean) / sqrt(variance + epsilon) + Bias, with the mean and variance of each row: the dims from begin_norm_axis "
          "on.")
      .In("X")
      .OptIn("Scale", kFp32)
      .OptIn("Bias", kFp32)
      .Out("Y")
      .OptOut("Mean", kFp32)
      .OptOut("Variance", kFp32)
      .A("epsilon", 1e-5f)
      .A("begin_norm_axis", 1)
      .Extra("is_test", false)
      .Infer(InferLayerNorm)
      .CostIs(PerOperand<8>)
      .Amp(kInfer, "X and Y may be low: the row is accumulated in fp32, and scale and bias stay fp32")
      .GradientOp({"X Scale Bias Mean Variance", "Y", "X Scale Bias"})
      .Alias("onnx", "LayerNormalization")
      .Traits({OpTrait::kBounded, OpTrait::kNormalized})
      .Weights(WeightUse::kLayerNorm);
}

}  // namespace ampc::ops
