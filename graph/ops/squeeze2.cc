#include <algorithm>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// A named axis that is not 1 stays, as in Paddle; a named axis of unknown size goes. Without axes every 1 goes.
absl::Status InferSqueeze(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  OutXShape(ctx, x);
  const std::vector<int64_t> given = ctx.op().GetInts("axes");
  if (!x.has_rank || (given.empty() && !std::all_of(x.dims.begin(), x.dims.end(), IsKnown))) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, given, x.rank(), 1));
  TensorType out = RankZero(x.dtype);
  for (int i = 0; i < x.rank(); ++i) {
    const bool named = given.empty() || std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!named || Differ(x.dims[i], 1)) out.dims.push_back(x.dims[i]);
  }
  if (out.dims.empty() && x.rank() > 0) out.dims = ScalarDims(ctx, "Out");
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef Squeeze2Def() {
  return OpDef("squeeze2")
      .Doc("X without the dimensions 'axes' that are 1; without axes every 1 goes. XShape keeps the shape of X.")
      .In("X")
      .Out("Out")
      .OptOut("XShape")
      .A("axes", Ints{})
      .Infer(InferSqueeze)
      .CostIs(FreeCost)
      .Amp(kClear, "a view of its operand: no value changes")
      .Gradient("squeeze2_grad")
      .Alias("onnx", "Squeeze");
}

}  // namespace ampc::ops
