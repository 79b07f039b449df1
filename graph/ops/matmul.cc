#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/matmul_util.h"

namespace ampc::ops {

OpDef MatmulDef() {
  OpDef def("matmul");
  def.Doc("matmul_v2 of earlier Paddle: the product is multiplied by 'alpha'.")
      .In("X")
      .In("Y")
      .Out("Out")
      .A("transpose_X", false)
      .A("transpose_Y", false)
      .A("alpha", 1.0f)
      .Use(AttrUse::kScales)
      .Infer([](InferContext& ctx) { return InferMatmul(ctx, ctx.op().GetBool("transpose_X"), ctx.op().GetBool("transpose_Y")); })
      .CostIs([](const Op& op) { return MatmulCost(op, "transpose_X"); })
      .Amp(kAllow,
           "matrix units multiply f16 and accumulate fp32: 8 to 16 times the fp32 rate; alpha is applied before the result is rounded")
      .GradientOp({"X Y", "Out", "X Y"})
      .Weights(WeightUse::kProduct)
      .Extra("force_fp32_output", false);
  return QuantExtras(MatmulExtras(def));
}

}  // namespace ampc::ops
