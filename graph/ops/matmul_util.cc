#include "graph/ops/matmul_util.h"

#include <algorithm>
#include <utility>

#include "graph/ops/cost_util.h"
#include "graph/ops/fused_moves.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

absl::Status InferMatmul(InferContext& ctx, bool transpose_x, bool transpose_y) {
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Y", 1));
  const TensorType& x = ctx.In("X");
  const TensorType& y = ctx.In("Y");
  if (!x.has_rank || !y.has_rank) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  const int rx = x.rank();
  const int ry = y.rank();
  if (rx == 0 || ry == 0) return Fail(ctx, 4, rx == 0 ? "X" : "Y", " has rank 0, needs at least 1");
  const int64_t kx = rx == 1 || !transpose_x ? x.dims[rx - 1] : x.dims[rx - 2];
  const int64_t ky = ry == 1 ? y.dims[0] : transpose_y ? y.dims[ry - 1] : y.dims[ry - 2];
  if (Differ(kx, ky)) return Fail(ctx, 2, "Y has ", ky, " rows, needs ", kx, ", the columns of X");
  const Dims lead_x(x.dims.begin(), x.dims.begin() + std::max(rx - 2, 0));
  const Dims lead_y(y.dims.begin(), y.dims.begin() + std::max(ry - 2, 0));
  AMPC_ASSIGN_OR_RETURN(Dims out, BroadcastDims(ctx, lead_x, lead_y, -1, 3));
  if (rx > 1) out.push_back(transpose_x ? x.dims[rx - 1] : x.dims[rx - 2]);
  if (ry > 1) out.push_back(transpose_y ? y.dims[ry - 2] : y.dims[ry - 1]);
  if (out.empty()) out = ScalarDims(ctx, "Out");
  ctx.Out("Out", TensorType(x.dtype, std::move(out)));
  return absl::OkStatus();
}

Cost DotCost(const Op& op, int64_t inner) {
  return {2.0 * ResultElements(op) * (IsKnown(inner) ? static_cast<double>(inner) : 1.0), TotalBytes(op)};
}

Cost MatmulCost(const Op& op, const char* transpose_x) {
  const TensorType& x = op.input("X")->type;
  if (x.rank() == 0) return DotCost(op, kUnknownDim);
  return DotCost(op, x.rank() > 1 && op.GetBool(transpose_x) ? x.dims[x.rank() - 2] : x.dims[x.rank() - 1]);
}

OpDef& MatmulExtras(OpDef& def) {
  for (const char* name : kFusedMoves) def.Extra(name, Ints{});
  return def;
}

}  // namespace ampc::ops
