#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferCast(InferContext& ctx) {
  const DType to = ctx.op().GetDType("out_dtype");
  if (to == DType::kInvalid) return Fail(ctx, 1, "out_dtype names no type");
  ctx.Out("Out", ctx.In("X").WithDType(to));
  return absl::OkStatus();
}

}  // namespace

OpDef CastDef() {
  return MayOverwrite(OpDef("cast")
                          .Doc("X converted to out_dtype: to nearest even into f16 and bf16, toward zero into integers. saturate and "
                               "round_mode (up, down, nearest) are for floats of 8 bits. in_dtype is what X had "
                               "when the op was made; the type of X counts.")
                          .In("X", kAsIs)
                          .Out("Out", kAsIs)
                          .DTypeAttr("in_dtype", DType::kF32)
                          .DTypeAttr("out_dtype", DType::kF32, false)
                          .Extra("saturate", true)
                          .Extra("round_mode", std::string("up"))
                          .Infer(InferCast)
                          .CostIs(PerResult<1>)
                          .Amp(kNever, "the program asks for this very type; a cast that AMP makes useless is folded later")
                          .Gradient("cast in_dtype=Out.dtype out_dtype=X.dtype")
                          .Alias("onnx", "Cast"))
      .BoundsAre(&CastBounds)
      .FusedStep();
}

}  // namespace ampc::ops
