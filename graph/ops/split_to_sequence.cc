#include "graph/ops/array_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferSplitToSequence(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  if (x.kind != TypeKind::kTensor) return Fail(ctx, 1, "X is ", ToString(x), ", needs a tensor");
  if (x.has_rank) AMPC_RETURN_IF_ERROR(ctx.Axis(ctx.op().GetInt("axis"), x.rank(), "split_to_sequence.c2").status());
  if (ctx.Has("Split")) {
    AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "Split", 3));
    AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Split", 0, 1, 4));
  }
  ctx.Out("Out", ArrayOf(x.dtype));
  return absl::OkStatus();
}

}  // namespace

OpDef SplitToSequenceDef() {
  return OpDef("split_to_sequence")
      .Doc(
          "The array of the parts of X along 'axis': as long as Split says, all of one length (the last may be shorter) where that is one "
          "number of rank 0; "
          "without Split of length 1, and without the axis where 'keepdims' is false.")
      .In("X", kAsIs)
      .OptIn("Split", kAsIs)
      .Out("Out", kAsIs)
      .A("axis", int64_t{0})
      .A("keepdims", true)
      .Infer(InferSplitToSequence)
      .CostIs(MoveCost)
      .Amp(kNever, "moves values; the elements of an array keep one type")
      .Gradient("none: arrays are not differentiated");
}

}  // namespace ampc::ops
