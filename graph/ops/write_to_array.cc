#include "graph/ops/array_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferWriteToArray(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedIndex(ctx, "I", 1));
  const TensorType& x = ctx.In("X");
  if (x.kind != TypeKind::kTensor) return Fail(ctx, 2, "X is ", ToString(x), ", needs a tensor");
  ctx.Out("Out", ArrayOf(x.dtype));
  return absl::OkStatus();
}

}  // namespace

OpDef WriteToArrayDef() {
  OpDef def("write_to_array");
  def.Doc("Element I of the array Out becomes X; the array grows where it is shorter.")
      .In("X", kAsIs)
      .In("I", kAsIs)
      .Out("Out", kAsIs)
      .Infer(InferWriteToArray)
      .CostIs(FreeCost)
      .Amp(kNever, "hands a value on; the elements of an array keep one type")
      .Gradient("none: arrays are not differentiated")
      .Impure()
      .Traits({OpTrait::kControlMove});
  def.outputs[0].overwrites = true;
  return def;
}

}  // namespace ampc::ops
