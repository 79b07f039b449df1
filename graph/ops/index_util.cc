#include "graph/ops/index_util.h"

#include "graph/ops/cost_util.h"

namespace ampc::ops {

absl::StatusOr<std::optional<Dims>> NdIndexed(const InferContext& ctx, int c) {
  const TensorType& x = ctx.In("X");
  const TensorType& index = ctx.In("Index");
  if (!index.has_rank) return std::nullopt;
  if (index.rank() == 0) return Fail(ctx, c, "Index has rank 0, needs at least 1");
  const int64_t depth = index.dims.back();
  if (!x.has_rank || !IsKnown(depth)) return std::nullopt;
  if (depth > x.rank()) return Fail(ctx, c, "the last dimension of Index is ", depth, ", needs at most ", x.rank(), ", the rank of X");
  Dims dims(index.dims.begin(), index.dims.end() - 1);
  dims.insert(dims.end(), x.dims.begin() + depth, x.dims.end());
  return dims;
}

absl::Status NeedDims(const InferContext& ctx, absl::string_view slot, const Dims& want, int c) {
  const TensorType& type = ctx.In(slot);
  if (!type.has_rank || Compatible(type, TensorType(type.dtype, want))) return absl::OkStatus();
  return Fail(ctx, c, slot, " is ", ToString(type), ", needs ", ToString(TensorType(type.dtype, want)));
}

absl::Status NeedIndexList(const InferContext& ctx, absl::string_view slot, int c) {
  const TensorType& index = ctx.In(slot);
  if (!index.has_rank || index.rank() < 2 || (index.rank() == 2 && !Differ(index.dims[1], 1))) return absl::OkStatus();
  return Fail(ctx, c, slot, " is ", ToString(index), ", needs rank 0 or 1, or [n, 1]");
}

Cost IndexCost(const Op& op, absl::string_view index_slot) {
  double bytes = Bytes(op.input(index_slot)->type);
  for (const Var* out : op.outputs()) bytes += 2 * Bytes(out->type);
  return {0, bytes};
}

}  // namespace ampc::ops
