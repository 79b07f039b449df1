#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferWhereIndex(InferContext& ctx) {
  const TensorType& x = ctx.In("Condition");
  if (x.has_rank && x.rank() == 0) return Fail(ctx, 1, "Condition has rank 0, needs at least 1");
  ctx.Out("Out", TensorType(DType::kI64, {kUnknownDim, x.has_rank ? x.rank() : kUnknownDim}));
  return absl::OkStatus();
}

}  // namespace

OpDef WhereIndexDef() {
  return OpDef("where_index")
      .Doc("The positions [n, rank] of the elements of Condition that are not 0, in row-major order.")
      .In("Condition", kAsIs)
      .Out("Out", kAsIs)
      .Infer(InferWhereIndex)
      .CostIs(PerOperand<1>)
      .Amp(kNever, "compares with 0, which every type does exactly, and makes integers")
      .Gradient("none: an integer result");
}

}  // namespace ampc::ops
