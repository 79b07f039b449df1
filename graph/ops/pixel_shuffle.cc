#include "graph/ops/bounds.h"
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
  if (factor < 1 || factor > kMostWindow)
    return Fail(ctx, 3, "upscale_factor is ", factor, ", needs a positive number up to ", kMostWindow);
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

// Channels go back into the depth.
absl::Status InferPixelShuffleGradient(InferContext& ctx) {
  TensorType type = ctx.In("Out@GRAD");
  const int64_t factor = ctx.op().GetInt("upscale_factor", 1);
  const bool last = ctx.op().GetString("data_format", "NCHW") == "NHWC";
  if (type.has_rank && (type.rank() != 4 || factor < 1))
    return Fail(ctx, 1, "needs 4 dimensions and a factor of 1 or more, the gradient is ", ToString(type));
  for (size_t i = 1; i < type.dims.size(); ++i) {
    if (IsKnown(type.dims[i])) type.dims[i] = i == (last ? 3 : 1) ? type.dims[i] * factor * factor : type.dims[i] / factor;
  }
  ctx.Out("X@GRAD", std::move(type));
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
      .GradientOp({"", "Out", "X", "", &InferPixelShuffleGradient})
      .Alias("onnx", "DepthToSpace")
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
