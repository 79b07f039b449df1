#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/matmul_util.h"
#include "graph/ops/quantize_util.h"

namespace ampc::ops {
namespace {

// Leading dims of X and Y broadcast.
absl::Status InferQuantizedMatmul(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(CheckQuantizedProduct(ctx, "X", "Y"));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 2, 16, 4));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Y", 2, 16, 4));
  const TensorType &x = ctx.In("X"), &y = ctx.In("Y");
  const DType to = TypeOfQuantizedProduct(ctx);
  if (!x.has_rank || !y.has_rank) {
    ctx.Out("Out", TensorType::Unranked(to));
    return absl::OkStatus();
  }
  const bool transposed = ctx.op().GetBool("trans_y");
  const int64_t rows = y.dims[y.rank() - (transposed ? 1 : 2)], columns = x.dims[x.rank() - 1];
  if (Differ(rows, columns))
    return Fail(ctx, 5, "Y has ", rows, transposed ? " columns" : " rows", ", needs ", columns, ", the columns of X");
  const Dims lead_x(x.dims.begin(), x.dims.end() - 2), lead_y(y.dims.begin(), y.dims.end() - 2);
  AMPC_ASSIGN_OR_RETURN(Dims out, BroadcastDims(ctx, lead_x, lead_y, -1, 6));
  out.push_back(x.dims[x.rank() - 2]);
  out.push_back(y.dims[y.rank() - (transposed ? 2 : 1)]);
  AMPC_RETURN_IF_ERROR(CheckColumns(ctx, out.back()));
  ctx.Out("Out", TensorType(to, std::move(out)));
  return absl::OkStatus();
}

Cost QuantizedMatmulCost(const Op& op) { return MatmulCost(op, "trans_x"); }

}  // namespace

OpDef QuantizedMatmulDef() {
  OpDef def("quantized_matmul");
  def.Doc(
         "Matrix product of integers of 8 bits in i32, (X - XZeroPoint) times (Y - YZeroPoint); where XScale is given, of what they stand "
         "for in fp32, plus Bias, "
         "through the activation; where OutScale is given, quantised by it. YScale, YZeroPoint and Bias are one number, or one for each "
         "column. Y is transposed on request.")
      .In("X", kAsIs)
      .In("Y", kAsIs);
  return QuantizedProductSlots(def, "X", "Y", "Out").A("trans_y", false).Infer(InferQuantizedMatmul).CostIs(QuantizedMatmulCost);
}

}  // namespace ampc::ops
