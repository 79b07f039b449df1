#include "graph/ops/control_flow_util.h"

#include "graph/ops/infer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {

absl::Status NeedCondition(const InferContext& ctx, absl::string_view slot, int c) { return NeedScalar(ctx, slot, {DType::kBool}, c); }

absl::Status NeedMask(const InferContext& ctx, int c) { return NeedScalar(ctx, "Mask", {DType::kI32, DType::kI64, DType::kBool}, c); }

Cost BlockCost(const Op&) { return {}; }

OpDef& WithBlock(OpDef& def) {
  for (SlotDef& slot : def.outputs) slot.overwrites = true;
  return def.Required("sub_block", BlockRef())
      .CostIs(BlockCost)
      .Amp(kNever, "control flow computes nothing; its block's ops are decided one by one and its carries keep their type")
      .Gradient("none: control flow is not differentiated")
      .Impure();
}

}  // namespace ampc::ops
