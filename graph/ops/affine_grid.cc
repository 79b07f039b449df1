#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferAffineGrid(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Theta", 3, 3, 1));
  const TensorType& theta = ctx.In("Theta");
  const ShapeArg shape = ReadShapeArg(ctx, "", "OutputShape", "output_shape");
  if (!shape.has_value()) {
    ctx.Out("Output", TensorType::Unranked(theta.dtype));
    return absl::OkStatus();
  }
  const int64_t rank = static_cast<int64_t>(shape->size());
  if (rank != 4 && rank != 5) return Fail(ctx, 2, "output_shape has ", rank, " numbers, needs 4 or 5");
  const Dims given = theta.has_rank ? theta.dims : Dims(3, kUnknownDim);
  if (Differ(given[1], rank - 2) || Differ(given[2], rank - 1)) {
    return Fail(ctx, 3, "Theta has matrices of ", DimText(given[1]), " x ", DimText(given[2]), ", needs ", rank - 2, " x ", rank - 1);
  }
  Dims out = {given[0]};
  for (int64_t i = 2; i < rank; ++i) out.push_back((*shape)[i].value_or(kUnknownDim));
  out.push_back(rank - 2);
  ctx.Out("Output", TensorType(theta.dtype, std::move(out)));
  return absl::OkStatus();
}

}  // namespace

OpDef AffineGridDef() {
  return OpDef("affine_grid")
      .Doc(
          "The positions that grid_sampler takes for an affine map: Theta [n, 2, 3] times (x, y, 1) of each position of 'output_shape' "
          "[n, c, h, w], from -1 to 1. OutputShape replaces the attribute; Theta [n, 3, 4] maps volumes.")
      .In("Theta")
      .HostIn("OutputShape")
      .Out("Output")
      .A("output_shape", Ints{})
      .A("align_corners", true)
      .Extra("use_cudnn", true)
      .Infer(InferAffineGrid)
      .CostIs(PerResult<6>)
      .Amp(kDeny, "an f16 coordinate near 1 has steps of 0.0005, one pixel of 4096, and its errors move whole images")
      .GradientOp({"Theta OutputShape", "Output", "Theta"})
      .Alias("onnx", "AffineGrid")
      .NotLowOnCuda();
}

}  // namespace ampc::ops
