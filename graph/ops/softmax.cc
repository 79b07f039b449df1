#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferSoftmax(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  if (x.has_rank && x.rank() > 0) AMPC_RETURN_IF_ERROR(Axes(ctx, {ctx.op().GetInt("axis")}, x.rank(), 1).status());
  return InferSame(ctx);
}

}  // namespace

OpDef SoftmaxDef() {
  return OpDef("softmax")
      .Doc("exp(X) divided by its sum along 'axis'; the largest element is subtracted first.")
      .In("X")
      .Out("Out")
      .A("axis", -1)
      .Extra("data_format", "AnyLayout")
      .Extra("use_cudnn", true)
      .Extra("is_test", false)
      .Infer(InferSoftmax)
      .CostIs(PerResult<8>)
      .Amp(kInfer,
           "exp and its sum run in fp32 after the maximum is subtracted; results lie in [0, 1], one rounding moves them by at most 2^-12")
      .GradientOp({"Out", "Out", "X"})
      .Alias("onnx", "Softmax")
      .Traits({OpTrait::kBounded, OpTrait::kNormalized})
      .BoundsAre(&Between<0, 1>);
}

}  // namespace ampc::ops
