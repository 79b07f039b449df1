#include "graph/ops/cost_util.h"
#include "graph/ops/index_util.h"

namespace ampc::ops {
namespace {

absl::Status InferMaskedSelect(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  const TensorType& mask = ctx.In("Mask");
  if (mask.dtype != DType::kBool && mask.dtype != DType::kInvalid) return Fail(ctx, 1, "Mask is ", Name(mask.dtype), ", needs bool");
  if (x.has_rank) AMPC_RETURN_IF_ERROR(NeedDims(ctx, "Mask", x.dims, 2));
  ctx.Out("Y", TensorType(x.dtype, {kUnknownDim}));
  return absl::OkStatus();
}

}  // namespace

OpDef MaskedSelectDef() {
  return OpDef("masked_select")
      .Doc("The elements of X where Mask is true, in row-major order.")
      .In("X")
      .In("Mask", kAsIs)
      .Out("Y")
      .Infer(InferMaskedSelect)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .GradientOp({"X Mask", "Y", "X"});
}

}  // namespace ampc::ops
