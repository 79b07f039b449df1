#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferLessThan(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Y", 1));
  const TensorType& x = ctx.In("X");
  const TensorType& y = ctx.In("Y");
  if (!x.has_rank || !y.has_rank) {
    ctx.Out("Out", TensorType::Unranked(DType::kBool));
    return absl::OkStatus();
  }
  AMPC_ASSIGN_OR_RETURN(Dims dims, BroadcastDims(ctx, x.dims, y.dims, ctx.op().GetInt("axis"), 2));
  ctx.Out("Out", TensorType(DType::kBool, std::move(dims)));
  return absl::OkStatus();
}

}  // namespace

OpDef LessThanDef() {
  return MayOverwrite(OpDef("less_than")
                          .Doc("Out = X < Y element by element, broadcast; always bool.")
                          .In("X")
                          .In("Y")
                          .Out("Out", kAsIs)
                          .A("axis", -1)
                          .Extra("force_cpu", false)
                          .Infer(InferLessThan)
                          .CostIs(PerResult<1>)
                          .Amp(kWidest, "values that differ in fp32 may be equal in a low type, so the operands are not lowered for it")
                          .Gradient("none: a comparison has no derivative")
                          .Alias("onnx", "Less"));
}

}  // namespace ampc::ops
