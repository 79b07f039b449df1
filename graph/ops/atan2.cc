#include <utility>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferAtan2(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X1", "X2", 1));
  const TensorType& y = ctx.In("X1");
  const TensorType& x = ctx.In("X2");
  TensorType out = TensorType::Unranked(y.dtype);
  if (x.has_rank && y.has_rank) {
    out = RankZero(y.dtype);
    AMPC_ASSIGN_OR_RETURN(out.dims, BroadcastDims(ctx, y.dims, x.dims, -1, 2));
  }
  ctx.Out("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

OpDef Atan2Def() {
  return OpDef("atan2")
      .Doc("The angle of the point (X2, X1), in [-pi, pi]; the operands broadcast.")
      .In("X1")
      .In("X2")
      .Out("Out")
      .Infer(InferAtan2)
      .CostIs(PerResult<12>)
      .Amp(kInfer, "computed in fp32 inside; an operand's rounding of 2^-12 turns the angle by no more, |result| < 3.15")
      .GradientOp({"X1 X2", "Out", "X1 X2"})
      .FusedStep();
}

}  // namespace ampc::ops
