#include "graph/ops/loss_util.h"

#include "graph/ops/infer_util.h"

namespace ampc::ops {

absl::StatusOr<TensorType> LossType(const InferContext& ctx, const TensorType& x, absl::string_view slot, int64_t axis) {
  const bool soft = ctx.op().GetBool("soft_label");
  const TensorType& label = ctx.In("Label");
  if (soft) {
    AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, slot, "Label", 2));
  } else {
    AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "Label", 2));
  }
  if (!x.has_rank) return TensorType::Unranked(x.dtype);
  AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, {axis}, x.rank(), 1));
  const int at = axes[0];
  TensorType loss = x;
  loss.dims[at] = 1;
  const Dims& want = soft ? x.dims : loss.dims;
  if (!label.has_rank) return loss;
  const bool squeezed = !soft && label.rank() == x.rank() - 1;
  if (label.rank() != x.rank() && !squeezed) return Fail(ctx, 3, "Label has rank ", label.rank(), ", needs ", x.rank());
  for (int i = 0; i < label.rank(); ++i) {
    const int64_t need = want[squeezed && i >= at ? i + 1 : i];
    if (Differ(label.dims[i], need)) return Fail(ctx, 3, "Label has ", label.dims[i], " at dim ", i, ", needs ", need);
  }
  return loss;
}

}  // namespace ampc::ops
