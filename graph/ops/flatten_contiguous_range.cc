#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferFlatten(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  OutXShape(ctx, x);
  if (!x.has_rank) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  if (x.rank() == 0) {
    ctx.Out("Out", TensorType(x.dtype, {1}));
    return absl::OkStatus();
  }
  AMPC_ASSIGN_OR_RETURN(auto start, Axes(ctx, {ctx.op().GetInt("start_axis")}, x.rank(), 1));
  AMPC_ASSIGN_OR_RETURN(auto stop, Axes(ctx, {ctx.op().GetInt("stop_axis")}, x.rank(), 1));
  if (stop[0] < start[0]) return Fail(ctx, 2, "stop_axis is ", stop[0], ", needs at least start_axis, which is ", start[0]);
  Dims out(x.dims.begin(), x.dims.begin() + start[0]);
  out.push_back(start[0] == stop[0] ? x.dims[start[0]] : Product(Slice(x.dims, start[0], stop[0] + 1)));
  out.insert(out.end(), x.dims.begin() + stop[0] + 1, x.dims.end());
  ctx.Out("Out", TensorType(x.dtype, out));
  return absl::OkStatus();
}

}  // namespace

OpDef FlattenContiguousRangeDef() {
  return OpDef("flatten_contiguous_range")
      .Doc("X with the dimensions start_axis to stop_axis merged into one. XShape keeps the shape of X.")
      .In("X")
      .Out("Out")
      .OptOut("XShape")
      .A("start_axis", 1)
      .A("stop_axis", 1)
      .Infer(InferFlatten)
      .CostIs(FreeCost)
      .Amp(kClear, "a view of its operand: no value changes")
      .GradientOp({"XShape", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
