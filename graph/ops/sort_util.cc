#include "graph/ops/sort_util.h"

#include <algorithm>
#include <cmath>

#include "graph/ops/cost_util.h"

namespace ampc::ops {

absl::Status InferSorted(InferContext& ctx, int64_t axis, std::optional<int64_t> size, int c) {
  TensorType out = ctx.In("X");
  out.lod_level = 0;
  if (out.has_rank && out.rank() > 0) {
    AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, {axis}, out.rank(), c));
    int64_t& dim = out.dims[axes[0]];
    if (size.has_value() && IsKnown(dim) && IsKnown(*size) && *size > dim) {
      return Fail(ctx, c + 1, "k is ", *size, ", needs at most ", dim, ", the size of the axis");
    }
    if (size.has_value()) dim = *size;
  }
  ctx.Out("Indices", out.WithDType(DType::kI64));
  ctx.Out("Out", out);
  return absl::OkStatus();
}

Cost SortCost(const Op& op) {
  const TensorType& x = op.inputs()[0]->type;
  double longest = 2;
  for (int64_t d : x.dims) longest = std::max(longest, static_cast<double>(d));
  return {Elements(x) * std::log2(longest), TotalBytes(op)};
}

OpDef& SortAmp(OpDef& def) {
  return def.CostIs(SortCost).Amp(kClear, "compares and moves its operand exactly in every type; the indices are integers");
}

}  // namespace ampc::ops
