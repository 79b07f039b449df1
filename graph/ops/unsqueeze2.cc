#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// The axes apply one after the other, each to the shape so far, as in Paddle.
absl::Status InferUnsqueeze(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  OutXShape(ctx, x);
  const ShapeArg axes = ReadShapeArg(ctx, "AxesTensorList", "AxesTensor", "axes");
  if (!axes.has_value() || !x.has_rank) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  TensorType out = x;
  out.lod_level = 0;
  bool known = true;
  for (const std::optional<int64_t>& axis : *axes) {
    if (!axis.has_value()) {
      known = false;
      continue;
    }
    AMPC_ASSIGN_OR_RETURN(auto at, Axes(ctx, {*axis}, out.rank() + 1, 1));
    out.dims.insert(out.dims.begin() + at[0], 1);
  }
  if (!known) out.dims.assign(x.rank() + axes->size(), kUnknownDim);
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef Unsqueeze2Def() {
  return OpDef("unsqueeze2")
      .Doc("X with dimensions of size 1 inserted at 'axes', one after the other. XShape keeps the shape of X.")
      .In("X")
      .HostIn("AxesTensor")
      .HostVarIn("AxesTensorList")
      .Out("Out")
      .OptOut("XShape")
      .A("axes", Ints{})
      .Infer(InferUnsqueeze)
      .CostIs(FreeCost)
      .Amp(kClear, "a view of its operand: no value changes")
      .Gradient("unsqueeze2_grad")
      .Alias("onnx", "Unsqueeze");
}

}  // namespace ampc::ops
