#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferTrilTriu(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  if (x.has_rank && x.rank() < 2) return Fail(ctx, 1, "X has rank ", x.rank(), ", needs at least 2");
  return InferSame(ctx);
}

}  // namespace

OpDef TrilTriuDef() {
  return OpDef("tril_triu")
      .Doc("The part of each matrix on and above the diagonal (below it where 'lower'), zeros elsewhere; 'diagonal' is counted upwards.")
      .In("X")
      .Out("Out")
      .A("diagonal", 0)
      .A("lower", false)
      .Infer(InferTrilTriu)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .GradientOp({"", "Out", "X"})
      .Alias("onnx", "Trilu")
      .BoundsAre(&PaddedBounds);
}

}  // namespace ampc::ops
