#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferExpandAs(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  Dims want;
  if (ctx.Has("Y")) {
    if (!ctx.In("Y").has_rank) {
      ctx.Out("Out", TensorType::Unranked(x.dtype));
      return absl::OkStatus();
    }
    want = ctx.In("Y").dims;
  } else {
    for (int64_t d : ctx.op().GetInts("target_shape")) want.push_back(d < 0 ? kUnknownDim : d);
  }
  const int lead = static_cast<int>(want.size()) - x.rank();
  if (lead < 0) return Fail(ctx, 1, "the target has rank ", want.size(), ", needs at least ", x.rank(), ", the rank of X");
  for (int i = 0; i < x.rank(); ++i) {
    int64_t& to = want[lead + i];
    if (Differ(x.dims[i], to) && x.dims[i] != 1) return Fail(ctx, 2, "X has ", x.dims[i], " at dim ", i, ", needs ", to, " or 1");
    if (IsKnown(x.dims[i]) && x.dims[i] != 1) to = Merge(to, x.dims[i]);
  }
  ctx.Out("Out", TensorType(x.dtype, want));
  return absl::OkStatus();
}

}  // namespace

OpDef ExpandAsV2Def() {
  return OpDef("expand_as_v2")
      .Doc("X broadcast to the shape of Y, or to target_shape where there is no Y.")
      .In("X")
      .OptIn("Y", kAsIs)
      .Out("Out")
      .A("target_shape", Ints{})
      .Infer(InferExpandAs)
      .CostIs([](const Op& op) {
        return Cost{0, Bytes(op.inputs()[0]->type) + Bytes(op.outputs()[0]->type)};
      })
      .Amp(kClear, "moves values without arithmetic; of Y only the shape is read")
      .GradientOp({"X Y", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
