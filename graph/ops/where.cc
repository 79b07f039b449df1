#include <utility>

#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferWhere(InferContext& ctx) {
  const TensorType& condition = ctx.In("Condition");
  if (condition.dtype != DType::kBool && condition.dtype != DType::kInvalid) {
    return Fail(ctx, 1, "Condition is ", Name(condition.dtype), ", needs bool");
  }
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Y", 2));
  TensorType out = ctx.In("X");
  for (const char* slot : {"Y", "Condition"}) {
    const TensorType& other = ctx.In(slot);
    if (!other.has_rank) continue;
    if (!out.has_rank) {
      out = other.WithDType(out.dtype);
      continue;
    }
    if (other.rank() != out.rank()) return Fail(ctx, 3, slot, " has rank ", other.rank(), ", needs ", out.rank(), " like X");
    for (int i = 0; i < out.rank(); ++i) {
      if (Differ(out.dims[i], other.dims[i])) {
        return Fail(ctx, 3, slot, " has ", other.dims[i], " at dim ", i, ", needs ", out.dims[i], " like X");
      }
      out.dims[i] = Merge(out.dims[i], other.dims[i]);
    }
  }
  ctx.Out("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

OpDef WhereDef() {
  return OpDef("where")
      .Doc("X where Condition is true, else Y; all three have one shape.")
      .In("Condition", kAsIs)
      .In("X")
      .In("Y")
      .Out("Out")
      .Infer(InferWhere)
      .CostIs(MoveCost)
      .Amp(kWidest, "moves values without arithmetic; both branches have one type, and -1e9 of a mask has no f16")
      .GradientOp({"Condition X Y", "Out", "X Y"})
      .Alias("onnx", "Where")
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
