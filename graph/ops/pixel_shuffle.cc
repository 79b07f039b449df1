#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/window.h"

namespace ampc::ops {
namespace {

absl::Status InferPixelShuffle(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 4, 4, 1));
  const std::string layout = ctx.op().GetString("data_format");
  if (layout != "NCHW" && layout != "NHWC") return Fail(ctx, 2, "data_format is '", layout, "', needs NCHW or NHWC");
  const int64_t factor = ctx.op().GetInt("upscale_factor");
  if (factor < 1 || factor > kMostWindow) return Fail(ctx, 3, "upscale_factor is ", factor, ", needs a positive number up to ", kMostWindow);
  TensorType out = ctx.In("X");
  if (out.has_rank) {
    const bool last = ChannelsLast(layout);
    int64_t& channels = out.dims[last ? 3 : 1];
    if (IsKnown(channels) && channels % (factor * factor) != 0) {
      return Fail(ctx, 4, "X has ", channels, " channels, needs a multiple of ", factor * factor);
    }
    if (IsKnown(channels)) channels /= factor * factor;
    for (int i = 0; i < 2; ++i) {
      int64_t& size = out.dims[(last ? 1 : 2) + i];
      if (IsKnown(size)) size = SatMul(size, factor);
      if (!IsKnown(size) && factor > 1) size = kUnknownDim;
    }
  }
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef PixelShuffleDef() {
  return OpDef("pixel_shuffle")
      .Doc("X [n, c r r, h, w] (or n, h, w, c r r) as [n, c, h r, w r] with r = 'upscale_factor': channels become positions.")
      .In("X")
      .Out("Out")
      .A("upscale_factor", 1)
      .A("data_format", "NCHW")
      .Infer(InferPixelShuffle)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .Gradient("pixel_shuffle_grad")
      .Alias("onnx", "DepthToSpace");
}

}  // namespace ampc::ops
