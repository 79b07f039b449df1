#include "graph/ops/array_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferTensorArrayToTensor(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedArray(ctx, "X", 1));
  ctx.Out("Out", TensorType::Unranked(ctx.In("X").dtype));
  ctx.Out("OutIndex", TensorType::Unranked(DType::kI32));
  return absl::OkStatus();
}

}  // namespace

OpDef TensorArrayToTensorDef() {
  return OpDef("tensor_array_to_tensor")
      .Doc("The elements of the array X side by side along 'axis', or with use_stack along a new axis; OutIndex has the length of each.")
      .In("X", kAsIs)
      .Out("Out", kAsIs)
      .OptOut("OutIndex", kAsIs)
      .A("axis", 0)
      .A("use_stack", false)
      .Infer(InferTensorArrayToTensor)
      .CostIs(MoveCost)
      .Amp(kNever, "moves values; the elements of an array keep one type")
      .Gradient("none: arrays are not differentiated")
      .Impure();
}

}  // namespace ampc::ops
