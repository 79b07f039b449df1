#include "graph/ops/array_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferSequenceConstruct(InferContext& ctx) {
  DType dtype = ctx.Count("X") == 0 ? ctx.op().GetDType("dtype") : DType::kInvalid;
  for (int i = 0; i < ctx.Count("X"); ++i) {
    const TensorType& x = ctx.In("X", i);
    if (x.kind != TypeKind::kTensor) return Fail(ctx, 1, "operand ", i, " of X is ", ToString(x), ", needs a tensor");
    if (dtype == DType::kInvalid) dtype = x.dtype;
    if (x.dtype != dtype && x.dtype != DType::kInvalid)
      return Fail(ctx, 2, "operand ", i, " of X is ", Name(x.dtype), ", needs ", Name(dtype), " like the first");
  }
  ctx.Out("Out", ArrayOf(dtype));
  return absl::OkStatus();
}

}  // namespace

OpDef SequenceConstructDef() {
  return OpDef("sequence_construct")
      .Doc("An array of the tensors X; without any it is empty, of elements of type 'dtype'.")
      .OptVarIn("X", kAsIs)
      .Out("Out", kAsIs)
      .DTypeAttr("dtype", DType::kF32, /*retarget=*/false)
      .Infer(InferSequenceConstruct)
      .CostIs(FreeCost)
      .Amp(kNever, "hands values on; the elements of an array keep one type")
      .Gradient("none: arrays are not differentiated");
}

}  // namespace ampc::ops
