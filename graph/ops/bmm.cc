#include "graph/ops/infer_util.h"
#include "graph/ops/matmul_util.h"

namespace ampc::ops {
namespace {

absl::Status InferBmm(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Y", 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 3, 3, 2));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Y", 3, 3, 2));
  const TensorType& x = ctx.In("X");
  const Dims dx = x.has_rank ? x.dims : Dims(3, kUnknownDim);
  const Dims dy = ctx.In("Y").has_rank ? ctx.In("Y").dims : Dims(3, kUnknownDim);
  if (Differ(dx[0], dy[0])) return Fail(ctx, 3, "Y has ", dy[0], " matrices, needs ", dx[0], " like X");
  if (Differ(dx[2], dy[1])) return Fail(ctx, 4, "Y has ", dy[1], " rows, needs ", dx[2], ", the columns of X");
  ctx.Out("Out", TensorType(x.dtype, {Merge(dx[0], dy[0]), dx[1], dy[2]}));
  return absl::OkStatus();
}

}  // namespace

OpDef BmmDef() {
  return OpDef("bmm")
      .Doc("Products of the matrices of X [b, m, k] and Y [b, k, n], one by one.")
      .In("X")
      .In("Y")
      .Out("Out")
      .Infer(InferBmm)
      .CostIs([](const Op& op) { return MatmulCost(op, ""); })
      .Amp(kAllow, "matrix units multiply f16 and accumulate fp32: 8 to 16 times the fp32 rate, and half the bytes")
      .GradientOp({"X Y", "Out", "X Y"});
}

}  // namespace ampc::ops
