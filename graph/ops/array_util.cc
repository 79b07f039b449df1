#include "graph/ops/array_util.h"

#include "graph/ops/infer_util.h"

namespace ampc::ops {

TensorType ArrayOf(DType dtype) {
  TensorType type = TensorType::Unranked(dtype);
  type.kind = TypeKind::kTensorArray;
  return type;
}

absl::Status NeedArray(const InferContext& ctx, absl::string_view slot, int c) {
  const TensorType& x = ctx.In(slot);
  return x.kind == TypeKind::kTensorArray || x.LacksDType() ? absl::OkStatus()
                                                            : Fail(ctx, c, slot, " is ", ToString(x), ", needs an array");
}

absl::Status NeedIndex(const InferContext& ctx, absl::string_view slot, int c) {
  AMPC_RETURN_IF_ERROR(NeedInteger(ctx, slot, c));
  const TensorType& i = ctx.In(slot);
  if (i.has_rank && Differ(Product(i.dims), 1)) return Fail(ctx, c, slot, " has ", Product(i.dims), " elements, needs 1");
  return absl::OkStatus();
}

}  // namespace ampc::ops
