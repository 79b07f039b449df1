#include "graph/ops/array_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferLodArrayLength(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedArray(ctx, "X", 1));
  const TensorType& declared = ctx.op().output("Out")->type;  // later versions of Paddle declare no dimension
  ctx.Out("Out", declared.has_rank && declared.rank() == 0 ? RankZero(DType::kI64) : TensorType(DType::kI64, {1}));
  return absl::OkStatus();
}

}  // namespace

OpDef LodArrayLengthDef() {
  return OpDef("lod_array_length")
      .Doc("The number of elements of the array X, one i64.")
      .In("X", kAsIs)
      .Out("Out", kAsIs)
      .Infer(InferLodArrayLength)
      .CostIs(FreeCost)
      .Amp(kNever, "counts: f16 counts exactly only to 2048")
      .Gradient("none: a count has no derivative")
      .Impure();
}

}  // namespace ampc::ops
