#include "graph/ops/index_util.h"
#include "graph/ops/scatter_util.h"

namespace ampc::ops {
namespace {

absl::Status InferScatterNdUpdate(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "Index", 1));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Updates", 2));
  AMPC_ASSIGN_OR_RETURN(std::optional<Dims> dims, NdIndexed(ctx, 3));
  if (dims.has_value()) AMPC_RETURN_IF_ERROR(NeedDims(ctx, "Updates", *dims, 4));
  AMPC_RETURN_IF_ERROR(NeedReduction(ctx, "reduce", 5));
  ctx.Out("Out", TensorType(ctx.In("X")));
  return absl::OkStatus();
}

}  // namespace

OpDef ScatterNdUpdateDef() {
  return OpDef("scatter_nd_update")
      .Doc(
          "X where Updates[i..] is written to, or by 'reduce' (none, add, mul, max, min) joined with, X[Index[i.., 0], Index[i.., 1], ..], "
          "one "
          "after the other. Indices below 0 count from the end.")
      .In("X")
      .In("Index", kAsIs)
      .In("Updates")
      .Out("Out")
      .A("reduce", "none")
      .Infer(InferScatterNdUpdate)
      .CostIs([](const Op& op) { return IndexCost(op, "Index"); })
      .Amp(kDeny, "joins as many values as have the same index: a sum of ones in f16 stops at 2048")
      .Gradient("none: which update of a slice counts depends on their order");
}

}  // namespace ampc::ops
