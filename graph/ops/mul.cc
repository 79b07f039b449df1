#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/matmul_util.h"

namespace ampc::ops {
namespace {

absl::Status InferMul(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Y", 1));
  const TensorType& x = ctx.In("X");
  const TensorType& y = ctx.In("Y");
  const int64_t nx = ctx.op().GetInt("x_num_col_dims");
  const int64_t ny = ctx.op().GetInt("y_num_col_dims");
  if (!x.has_rank || !y.has_rank) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  if (nx < 1 || nx >= x.rank()) return Fail(ctx, 2, "x_num_col_dims is ", nx, ", needs at least 1 and below ", x.rank(), ", the rank of X");
  if (ny < 1 || ny >= y.rank()) return Fail(ctx, 3, "y_num_col_dims is ", ny, ", needs at least 1 and below ", y.rank(), ", the rank of Y");
  const int64_t kx = Product(Slice(x.dims, nx, x.rank()));
  const int64_t ky = Product(Slice(y.dims, 0, ny));
  if (Differ(kx, ky)) return Fail(ctx, 4, "Y has ", ky, " rows, needs ", kx, ", the columns of X");
  Dims out(x.dims.begin(), x.dims.begin() + nx);
  out.insert(out.end(), y.dims.begin() + ny, y.dims.end());
  ctx.Out("Out", TensorType(x.dtype, out));
  return absl::OkStatus();
}

Cost MulCost(const Op& op) {
  const Dims& x = op.input("X")->type.dims;
  const int64_t n = op.GetInt("x_num_col_dims");
  if (n < 0 || n > static_cast<int64_t>(x.size())) return DotCost(op, kUnknownDim);
  return DotCost(op, Product(Slice(x, n, static_cast<int>(x.size()))));
}

}  // namespace

OpDef MulDef() {
  return OpDef("mul")
      .Doc("Matrix product of X and Y flattened to matrices: the first x_num_col_dims (y_num_col_dims) dimensions are the rows.")
      .In("X")
      .In("Y")
      .Out("Out")
      .A("x_num_col_dims", 1)
      .A("y_num_col_dims", 1)
      .Extra("scale_x", 1.0f)
      .Extra("scale_y", Floats{1.0f})
      .Extra("scale_out", 1.0f)
      .Extra("force_fp32_output", false)
      .Infer(InferMul)
      .CostIs(MulCost)
      .Amp(kAllow, "matrix units multiply f16 and accumulate fp32: 8 to 16 times the fp32 rate, and half the bytes")
      .GradientOp({"X Y", "Out", "X Y"})
      .Weights(WeightUse::kProduct);
}

}  // namespace ampc::ops
