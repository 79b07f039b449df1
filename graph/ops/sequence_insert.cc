#include "graph/ops/array_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferSequenceInsert(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedArray(ctx, "X", 1));
  const TensorType& t = ctx.In("T");
  if (t.kind != TypeKind::kTensor) return Fail(ctx, 2, "T is ", ToString(t), ", needs a tensor");
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "T", 3));
  if (ctx.Has("I")) AMPC_RETURN_IF_ERROR(NeedIndex(ctx, "I", 4));
  ctx.Out("Out", ArrayOf(t.dtype == DType::kInvalid ? ctx.In("X").dtype : t.dtype));
  return absl::OkStatus();
}

}  // namespace

OpDef SequenceInsertDef() {
  return OpDef("sequence_insert")
      .Doc("The array X with the tensor T in front of element I, which counts from the end where it is negative; at the end without I.")
      .In("X", kAsIs)
      .In("T", kAsIs)
      .OptIn("I", kAsIs)
      .Out("Out", kAsIs)
      .Infer(InferSequenceInsert)
      .CostIs(FreeCost)
      .Amp(kNever, "hands values on; the elements of an array keep one type")
      .Gradient("none: arrays are not differentiated");
}

}  // namespace ampc::ops
