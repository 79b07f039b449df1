#include <optional>

#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/pad_util.h"
#include "graph/ops/window.h"

namespace ampc::ops {
namespace {

absl::Status InferPad2D(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 4, 4, 1));
  const std::string layout = ctx.op().GetString("data_format");
  if (layout != "NCHW" && layout != "NHWC") return Fail(ctx, 2, "data_format is '", layout, "', needs NCHW or NHWC");
  const std::string mode = ctx.op().GetString("mode");
  if (mode != "constant" && mode != "reflect" && mode != "edge") {
    return Fail(ctx, 3, "mode is '", mode, "', needs constant, reflect or edge");
  }
  const ShapeArg pads = ReadShapeArg(ctx, "", "Paddings", "paddings");
  if (pads.has_value() && pads->size() != 4) return Fail(ctx, 4, "paddings has ", pads->size(), " numbers, needs 4");
  TensorType out = ctx.In("X");
  const int first = ChannelsLast(layout) ? 1 : 2;
  for (int i = 0; i < 2 && out.has_rank; ++i) {  // top, bottom, left, right
    const auto pad = [&](int k) { return pads.has_value() ? (*pads)[2 * i + k] : std::nullopt; };
    AMPC_RETURN_IF_ERROR(PadDim(ctx, pad(0), pad(1), mode == "reflect", 5, &out.dims[first + i]));
  }
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef Pad2DDef() {
  return OpDef("pad2d")
      .Doc(
          "X [n, c, h, w] (or n, h, w, c) with 'paddings' [top, bottom, left, right] filled by 'mode': constant 'pad_value', reflect or "
          "edge. Paddings replaces the attribute.")
      .In("X")
      .HostIn("Paddings")
      .Out("Out")
      .A("paddings", Ints{0, 0, 0, 0})
      .A("pad_value", 0.0f)
      .Use(AttrUse::kFills)
      .A("mode", "constant")
      .A("data_format", "NCHW")
      .Infer(InferPad2D)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .GradientOp({"X Paddings", "Out", "X"})
      .BoundsAre(&PaddedBounds)
      .NotLowOnCuda();
}

}  // namespace ampc::ops
