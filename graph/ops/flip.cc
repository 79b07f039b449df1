#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferFlip(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  if (x.has_rank) AMPC_RETURN_IF_ERROR(Axes(ctx, ctx.op().GetInts("axis"), x.rank(), 1).status());
  return InferSame(ctx);
}

}  // namespace

OpDef FlipDef() {
  return OpDef("flip")
      .Doc("X reversed along the dimensions 'axis'.")
      .In("X")
      .Out("Out")
      .Required("axis", Ints{})
      .Infer(InferFlip)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .Gradient("flip axis")
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
