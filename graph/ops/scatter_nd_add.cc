#include "graph/ops/index_util.h"

namespace ampc::ops {
namespace {

absl::Status InferScatterNdAdd(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "Index", 1));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Updates", 2));
  AMPC_ASSIGN_OR_RETURN(std::optional<Dims> dims, NdIndexed(ctx, 3));
  if (dims.has_value()) AMPC_RETURN_IF_ERROR(NeedDims(ctx, "Updates", *dims, 4));
  ctx.Out("Out", TensorType(ctx.In("X")));
  return absl::OkStatus();
}

}  // namespace

OpDef ScatterNdAddDef() {
  return OpDef("scatter_nd_add")
      .Doc("X with Updates[i..] added at X[Index[i.., 0], Index[i.., 1], ..]; positions named twice are increased twice.")
      .In("X")
      .In("Index", kAsIs)
      .In("Updates")
      .Out("Out")
      .Infer(InferScatterNdAdd)
      .CostIs([](const Op& op) { return IndexCost(op, "Index"); })
      .Amp(kDeny, "sums as many values as have the same index: a sum of ones in f16 stops at 2048")
      .GradientOp({"Index Updates", "Out", "X Updates"});
}

}  // namespace ampc::ops
