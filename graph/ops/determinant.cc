#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferDeterminant(InferContext& ctx) {
  const TensorType& x = ctx.In("Input");
  if (!x.has_rank) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Input", 2, 9, 1));
  const int64_t rows = x.dims[x.rank() - 2], columns = x.dims[x.rank() - 1];
  if (Differ(rows, columns)) return Fail(ctx, 2, "Input has matrices of ", rows, " x ", columns, ", needs square ones");
  TensorType out = RankZero(x.dtype);
  out.dims.assign(x.dims.begin(), x.dims.end() - 2);
  if (out.dims.empty()) out.dims = ScalarDims(ctx, "Out");
  ctx.Out("Out", std::move(out));
  return absl::OkStatus();
}

// Elimination: two thirds of n^3.
Cost DeterminantCost(const Op& op) {
  const TensorType& x = op.input("Input")->type;
  const double n = x.rank() > 0 && IsKnown(x.dims.back()) ? static_cast<double>(x.dims.back()) : 1.0;
  return {2.0 / 3.0 * n * Elements(x), TotalBytes(op)};
}

}  // namespace

OpDef DeterminantDef() {
  return OpDef("determinant")
      .Doc("The determinants of the square matrices that the last two dimensions of Input are.")
      .In("Input")
      .Out("Out")
      .Infer(InferDeterminant)
      .CostIs(DeterminantCost)
      .Amp(kDeny, "a product of as many pivots as there are rows: it leaves f16 above 65504, and differences of products cancel")
      .Gradient("none: no training program that was met has it")
      .Alias("onnx", "Det");
}

}  // namespace ampc::ops
