#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferRoll(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  const std::vector<int64_t> axis = ctx.op().GetInts("axis");
  const ShapeArg shifts = ReadShapeArg(ctx, "", "ShiftsTensor", "shifts");
  const size_t want = axis.empty() ? 1 : axis.size();
  if (shifts.has_value() && shifts->size() != want) {
    return Fail(ctx, 1, "shifts has ", shifts->size(), " numbers, needs ", want, axis.empty() ? " without axis" : " like axis");
  }
  if (x.has_rank) AMPC_RETURN_IF_ERROR(Axes(ctx, axis, x.rank(), 2).status());
  return InferSame(ctx);
}

}  // namespace

OpDef RollDef() {
  return OpDef("roll")
      .Doc("X with its elements moved 'shifts' places along 'axis', those beyond the end to the front; without axes over all elements.")
      .In("X")
      .HostIn("ShiftsTensor")
      .Out("Out")
      .A("shifts", Longs{})
      .A("axis", Longs{})
      .Infer(InferRoll)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .GradientOp({"X ShiftsTensor", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
