#include "graph/ops/array_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// Elements may differ in dims, so only their type is known.
absl::Status InferReadFromArray(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedArray(ctx, "X", 1));
  AMPC_RETURN_IF_ERROR(NeedIndex(ctx, "I", 2));
  ctx.Out("Out", TensorType::Unranked(ctx.In("X").dtype));
  return absl::OkStatus();
}

}  // namespace

OpDef ReadFromArrayDef() {
  return OpDef("read_from_array")
      .Doc("Out = element I of the array X.")
      .In("X", kAsIs)
      .In("I", kAsIs)
      .OptIn("X_W", kAsIs)
      .Out("Out", kAsIs)
      .Infer(InferReadFromArray)
      .CostIs(FreeCost)
      .Amp(kNever, "hands a value on; the elements of an array keep one type")
      .Gradient("none: arrays are not differentiated")
      .Impure()
      .Traits({OpTrait::kControlMove});
}

}  // namespace ampc::ops
