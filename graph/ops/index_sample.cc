#include "graph/ops/index_util.h"

namespace ampc::ops {
namespace {

absl::Status InferIndexSample(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "Index", 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 2, 2, 2));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Index", 2, 2, 2));
  const TensorType& x = ctx.In("X");
  const TensorType& index = ctx.In("Index");
  TensorType out(x.dtype, Dims(2, kUnknownDim));
  if (index.has_rank) out.dims = index.dims;
  if (x.has_rank) {
    if (Differ(x.dims[0], out.dims[0])) return Fail(ctx, 3, "Index has ", out.dims[0], " rows, needs ", x.dims[0], " like X");
    out.dims[0] = Merge(x.dims[0], out.dims[0]);
  }
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef IndexSampleDef() {
  return OpDef("index_sample")
      .Doc("Out[i, j] = X[i, Index[i, j]].")
      .In("X")
      .In("Index", kAsIs)
      .Out("Out")
      .Infer(InferIndexSample)
      .CostIs([](const Op& op) { return IndexCost(op, "Index"); })
      .Amp(kClear, "moves values without arithmetic; the index keeps its type")
      .GradientOp({"X Index", "Out", "X"});
}

}  // namespace ampc::ops
