#include "graph/ops/infer_util.h"
#include "graph/ops/matmul_util.h"

namespace ampc::ops {
namespace {

absl::Status InferMv(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Vec", 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 2, 2, 2));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Vec", 1, 1, 2));
  const TensorType& x = ctx.In("X");
  const TensorType& vec = ctx.In("Vec");
  if (x.has_rank && vec.has_rank && Differ(x.dims[1], vec.dims[0])) {
    return Fail(ctx, 3, "Vec has ", vec.dims[0], " elements, needs ", x.dims[1], ", the columns of X");
  }
  ctx.Out("Out", TensorType(x.dtype, {x.has_rank ? x.dims[0] : kUnknownDim}));
  return absl::OkStatus();
}

}  // namespace

OpDef MvDef() {
  return OpDef("mv")
      .Doc("The product of the matrix X [m, k] and the vector Vec [k].")
      .In("X")
      .In("Vec")
      .Out("Out")
      .Infer(InferMv)
      .CostIs([](const Op& op) { return MatmulCost(op, ""); })
      .Amp(kInfer,
           "accumulated in fp32; two flops per element of X keep matrix units idle, so it gains only where its operands are low already")
      .GradientOp({"X Vec", "Out", "X Vec"})
      .NotLowOnCuda();
}

}  // namespace ampc::ops
