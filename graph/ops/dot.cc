#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferDot(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Y", 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 1, 2, 2));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Y", 1, 2, 2));
  const TensorType& x = ctx.In("X");
  const TensorType& y = ctx.In("Y");
  if (!x.has_rank || !y.has_rank) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  if (x.rank() != y.rank()) return Fail(ctx, 3, "Y has rank ", y.rank(), ", needs ", x.rank(), " like X");
  for (int i = 0; i < x.rank(); ++i) {
    if (Differ(x.dims[i], y.dims[i])) return Fail(ctx, 3, "Y has ", y.dims[i], " at dimension ", i, ", needs ", x.dims[i], " like X");
  }
  if (x.rank() == 1) {
    ctx.Out("Out", TensorType(x.dtype, ScalarDims(ctx, "Out")));
  } else {  // one number per row; Paddle before 2.5 declares a column
    OutDeclared(ctx, "Out", TensorType(x.dtype, {Merge(x.dims[0], y.dims[0])}));
  }
  return absl::OkStatus();
}

}  // namespace

OpDef DotDef() {
  return OpDef("dot")
      .Doc("The sum of the products of X and Y along the last dimension: of two vectors, or row by row.")
      .In("X")
      .In("Y")
      .Out("Out")
      .Infer(InferDot)
      .CostIs(PerOperand<2>)
      .Amp(kInfer,
           "accumulated in fp32, since the sum of 2048 products of 6 is 73728 and beyond f16; a vector product is bound by memory, so it "
           "gains only where its operands are low already")
      .GradientOp({"X Y", "Out", "X Y"});
}

}  // namespace ampc::ops
