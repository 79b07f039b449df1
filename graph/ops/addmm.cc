#include "graph/ops/infer_util.h"
#include "graph/ops/matmul_util.h"

namespace ampc::ops {
namespace {

absl::Status InferAddmm(InferContext& ctx) {
  for (const char* slot : {"X", "Y"}) {
    AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "Input", slot, 1));
    AMPC_RETURN_IF_ERROR(NeedRank(ctx, slot, 2, 2, 2));
  }
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Input", 1, 2, 3));
  const TensorType& x = ctx.In("X");
  const TensorType& y = ctx.In("Y");
  const TensorType& add = ctx.In("Input");
  const Dims dx = x.has_rank ? x.dims : Dims(2, kUnknownDim);
  const Dims dy = y.has_rank ? y.dims : Dims(2, kUnknownDim);
  if (Differ(dx[1], dy[0])) return Fail(ctx, 4, "Y has ", dy[0], " rows, needs ", dx[1], ", the columns of X");
  const Dims out = {dx[0], dy[1]};
  for (int i = 0; add.has_rank && i < add.rank(); ++i) {
    const int64_t want = out[i + 2 - add.rank()];
    if (add.dims[i] != 1 && Differ(add.dims[i], want)) {
      return Fail(ctx, 5, "Input has ", add.dims[i], " at dimension ", i, ", needs 1 or ", want);
    }
  }
  ctx.Out("Out", TensorType(x.dtype, out));
  return absl::OkStatus();
}

Cost AddmmCost(const Op& op) {
  const TensorType& x = op.input("X")->type;
  return DotCost(op, x.rank() == 2 ? x.dims[1] : kUnknownDim);
}

}  // namespace

OpDef AddmmDef() {
  return OpDef("addmm")
      .Doc("Beta * Input + Alpha * X Y: the product of two matrices and a matrix or a row that is repeated.")
      .In("Input")
      .In("X")
      .In("Y")
      .Out("Out")
      .A("Alpha", 1.0f)
      .Use(AttrUse::kScales)
      .A("Beta", 1.0f)
      .Use(AttrUse::kScales)
      .Infer(InferAddmm)
      .CostIs(AddmmCost)
      .Amp(kAllow, "matrix units multiply f16 and accumulate fp32: 8 to 16 times the fp32 rate, and half the bytes")
      .GradientOp({"Input X Y", "Out", "Input X Y"})
      .Alias("onnx", "Gemm");
}

}  // namespace ampc::ops
