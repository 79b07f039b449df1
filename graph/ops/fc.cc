#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/matmul_util.h"

namespace ampc::ops {
namespace {

// padding_weights: W carries 4 more rows and columns than it uses.
int64_t Unpadded(const InferContext& ctx, int64_t dim) { return ctx.op().GetBool("padding_weights") && IsKnown(dim) ? dim - 4 : dim; }

absl::Status InferFc(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "Input", "W", 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "W", 2, 2, 2));
  const TensorType& x = ctx.In("Input");
  const TensorType& w = ctx.In("W");
  const int64_t n = ctx.op().GetInt("in_num_col_dims");
  const std::string act = ctx.op().GetString("activation_type");
  if (!act.empty() && act != "relu") return Fail(ctx, 3, "activation_type is '", act, "', needs relu or nothing");
  if (!x.has_rank) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  if (n < 1 || n >= x.rank())
    return Fail(ctx, 4, "in_num_col_dims is ", n, ", needs at least 1 and below ", x.rank(), ", the rank of Input");
  const int64_t k = Product(Slice(x.dims, n, x.rank()));
  const int64_t rows = w.has_rank ? Unpadded(ctx, w.dims[0]) : kUnknownDim;
  if (Differ(k, rows)) return Fail(ctx, 5, "W has ", rows, " rows, needs ", k, ", the columns of Input");
  const int64_t units = w.has_rank ? Unpadded(ctx, w.dims[1]) : kUnknownDim;
  if (ctx.Has("Bias") && ctx.In("Bias").has_rank && Differ(Product(ctx.In("Bias").dims), units)) {
    return Fail(ctx, 6, "Bias has ", Product(ctx.In("Bias").dims), " elements, needs ", units);
  }
  Dims out(x.dims.begin(), x.dims.begin() + n);
  out.push_back(units);
  ctx.Out("Out", TensorType(x.dtype, out));
  return absl::OkStatus();
}

Cost FcCost(const Op& op) {
  const Dims& w = op.input("W")->type.dims;
  return DotCost(op, w.empty() ? kUnknownDim : w[0]);
}

}  // namespace

OpDef FcDef() {
  return OpDef("fc")
      .Doc("Fully connected layer: Input flattened at in_num_col_dims times W [k, m], plus Bias, then the activation.")
      .In("Input")
      .In("W")
      .OptIn("Bias")
      .Out("Out")
      .A("in_num_col_dims", 1)
      .A("activation_type", "")
      .A("padding_weights", false)
      .Extra("Scale_in", 1.0f)
      .Extra("Scale_weights", Floats{1.0f})
      .Extra("Scale_out", 1.0f)
      .Extra("force_fp32_output", false)
      .Infer(InferFc)
      .CostIs(FcCost)
      .Amp(kAllow,
           "matrix units multiply f16 and accumulate fp32: 8 to 16 times the fp32 rate; the bias is added before the result is rounded")
      .Gradient("none: fusion makes it for inference; training keeps mul and elementwise_add");
}

}  // namespace ampc::ops
