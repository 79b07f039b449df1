#include "graph/ops/array_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferSequenceErase(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedArray(ctx, "X", 1));
  if (ctx.Has("I")) AMPC_RETURN_IF_ERROR(NeedIndex(ctx, "I", 2));
  ctx.Out("Out", ArrayOf(ctx.In("X").dtype));
  return absl::OkStatus();
}

}  // namespace

OpDef SequenceEraseDef() {
  return OpDef("sequence_erase")
      .Doc("The array X without element I, which counts from the end where it is negative; without the last one where there is no I.")
      .In("X", kAsIs)
      .OptIn("I", kAsIs)
      .Out("Out", kAsIs)
      .Infer(InferSequenceErase)
      .CostIs(FreeCost)
      .Amp(kNever, "hands values on; the elements of an array keep one type")
      .Gradient("none: arrays are not differentiated");
}

}  // namespace ampc::ops
