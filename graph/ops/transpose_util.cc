#include "graph/ops/transpose_util.h"

#include <utility>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferTranspose(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  const std::vector<int64_t> perm = ctx.op().GetInts("axis");
  const int rank = static_cast<int>(perm.size());
  if (x.has_rank && x.rank() != rank) return Fail(ctx, 1, "axis has ", rank, " numbers, needs ", x.rank(), ", the rank of X");
  AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, perm, rank, 2));
  if (static_cast<int>(axes.size()) != rank) return Fail(ctx, 2, "axis names a dimension twice, needs each once");
  Dims out(rank, kUnknownDim);
  for (int i = 0; i < rank && x.has_rank; ++i) out[i] = x.dims[axes[i]];
  ctx.Out("Out", TensorType(x.dtype, std::move(out)));
  if (ctx.op().def().OutputSlot("XShape") >= 0) OutXShape(ctx, x);
  return absl::OkStatus();
}

}  // namespace

OpDef Transpose(std::string name, std::string doc) {
  return OpDef(name)
      .Doc(std::move(doc))
      .In("X")
      .Out("Out")
      .Required("axis", Ints{})
      .Extra("data_format", "AnyLayout")
      .Infer(InferTranspose)
      .CostIs([](const Op& op) {
        return Cost{0, Bytes(op.inputs()[0]->type) + Bytes(op.outputs()[0]->type)};
      })
      .Amp(kClear, "moves values without arithmetic");
}

}  // namespace ampc::ops
