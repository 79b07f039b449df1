#include <optional>

#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/pad_util.h"
#include "graph/ops/window.h"

namespace ampc::ops {
namespace {

absl::Status InferPad3D(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 5, 5, 1));
  const std::string layout = ctx.op().GetString("data_format");
  if (layout != "NCDHW" && layout != "NDHWC") return Fail(ctx, 2, "data_format is '", layout, "', needs NCDHW or NDHWC");
  const std::string mode = ctx.op().GetString("mode");
  if (mode != "constant" && mode != "reflect" && mode != "replicate" && mode != "circular") {
    return Fail(ctx, 3, "mode is '", mode, "', needs constant, reflect, replicate or circular");
  }
  const ShapeArg pads = ReadShapeArg(ctx, "", "Paddings", "paddings");
  if (pads.has_value() && pads->size() != 6) return Fail(ctx, 4, "paddings has ", pads->size(), " numbers, needs 6");
  TensorType out = ctx.In("X");
  const int first = ChannelsLast(layout) ? 1 : 2;
  // The list runs from the last spatial dimension to the first: left, right, top, bottom, front, back.
  for (int i = 0; i < 3 && out.has_rank; ++i) {
    const auto pad = [&](int k) { return pads.has_value() ? (*pads)[2 * i + k] : std::nullopt; };
    AMPC_RETURN_IF_ERROR(PadDim(ctx, pad(0), pad(1), mode == "reflect", 5, &out.dims[first + 2 - i]));
  }
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef Pad3DDef() {
  return OpDef("pad3d")
      .Doc(
          "X [n, c, d, h, w] (or n, d, h, w, c) with 'paddings' [left, right, top, bottom, front, back] filled by 'mode': constant "
          "'value', "
          "reflect, replicate or circular. Paddings replaces the attribute.")
      .In("X")
      .HostIn("Paddings")
      .Out("Out")
      .A("paddings", Ints{})
      .A("value", 0.0f)
      .Use(AttrUse::kFills)
      .A("mode", "constant")
      .A("data_format", "NCDHW")
      .Infer(InferPad3D)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .GradientOp({"X Paddings", "Out", "X"})
      .BoundsAre(&PaddedBounds);
}

}  // namespace ampc::ops
