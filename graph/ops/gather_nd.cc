#include "graph/ops/bounds.h"
#include "graph/ops/index_util.h"

namespace ampc::ops {
namespace {

absl::Status InferGatherNd(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "Index", 1));
  AMPC_ASSIGN_OR_RETURN(std::optional<Dims> dims, NdIndexed(ctx, 2));
  TensorType out = RankZero(ctx.In("X").dtype);
  out.has_rank = dims.has_value();
  if (dims.has_value()) out.dims = *dims;
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef GatherNdDef() {
  return OpDef("gather_nd")
      .Doc(
          "Out[i..] = X[Index[i.., 0], Index[i.., 1], ..]; the last dimension of Index counts the leading dimensions of X that it names. "
          "Where "
          "'from_end', -1 names the last one.")
      .In("X")
      .In("Index", kAsIs)
      .Out("Out")
      .A("from_end", false)
      .Infer(InferGatherNd)
      .CostIs([](const Op& op) { return IndexCost(op, "Index"); })
      .Amp(kClear, "moves values without arithmetic; the index keeps its type")
      .GradientOp({"X Index", "Out", "X"})
      .Alias("onnx", "GatherND")
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
