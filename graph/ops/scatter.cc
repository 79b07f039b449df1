#include "graph/ops/index_util.h"

namespace ampc::ops {
namespace {

absl::Status InferScatter(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "Ids", 1));
  AMPC_RETURN_IF_ERROR(NeedIndexList(ctx, "Ids", 2));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Updates", 3));
  const TensorType& x = ctx.In("X");
  const TensorType& ids = ctx.In("Ids");
  if (x.has_rank && x.rank() == 0) return Fail(ctx, 4, "X has rank 0, needs at least 1");
  if (x.has_rank && ids.has_rank) {
    Dims want = x.dims;
    if (ids.rank() == 0) {
      want.erase(want.begin());
    } else {
      want[0] = ids.dims[0];
    }
    AMPC_RETURN_IF_ERROR(NeedDims(ctx, "Updates", want, 4));
  }
  ctx.Out("Out", TensorType(x));
  return absl::OkStatus();
}

// Writing moves; adding sums as many rows as have the same number.
AmpClass ClassOf(const Op& op) { return op.GetBool("overwrite") ? kWidest : kDeny; }

}  // namespace

OpDef ScatterDef() {
  return OpDef("scatter")
      .Doc(
          "X with the rows that Ids names replaced by those of Updates (the last one wins); without 'overwrite' set to 0 first and "
          "then increased by them.")
      .In("X")
      .In("Ids", kAsIs)
      .In("Updates")
      .Out("Out")
      .A("overwrite", true)
      .Infer(InferScatter)
      .CostIs([](const Op& op) { return IndexCost(op, "Ids"); })
      .Amp(kWidest,
           "moves values without arithmetic, but X and Updates must have one type: narrowing a wide one would round it; adding is denied, "
           "because a sum of ones in f16 stops at 2048")
      .AmpWhen(ClassOf)
      .GradientOp({"Ids Updates", "Out", "X Updates"});
}

}  // namespace ampc::ops
