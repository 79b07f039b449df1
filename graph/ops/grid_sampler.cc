#include <algorithm>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferGridSampler(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 4, 5, 1));
  const TensorType& x = ctx.In("X");
  const TensorType& grid = ctx.In("Grid");
  if (x.has_rank) AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Grid", x.rank(), x.rank(), 2));
  if (!x.has_rank) AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Grid", 4, 5, 2));
  if (grid.dtype != x.dtype && grid.dtype != StatDType(x.dtype) && grid.dtype != DType::kInvalid && x.dtype != DType::kInvalid) {
    return Fail(ctx, 3, "Grid is ", Name(grid.dtype), ", needs ", Name(StatDType(x.dtype)));
  }
  const std::string mode = ctx.op().GetString("mode");
  if (mode != "bilinear" && mode != "nearest") return Fail(ctx, 4, "mode is '", mode, "', needs bilinear or nearest");
  const std::string padding = ctx.op().GetString("padding_mode");
  if (padding != "zeros" && padding != "border" && padding != "reflection") {
    return Fail(ctx, 5, "padding_mode is '", padding, "', needs zeros, border or reflection");
  }
  if (!x.has_rank && !grid.has_rank) {
    ctx.Out("Output", x);
    return absl::OkStatus();
  }
  const int spatial = (x.has_rank ? x.rank() : grid.rank()) - 2;
  const Dims dx = x.has_rank ? x.dims : Dims(spatial + 2, kUnknownDim);
  const Dims dg = grid.has_rank ? grid.dims : Dims(spatial + 2, kUnknownDim);
  if (Differ(dx[0], dg[0])) return Fail(ctx, 6, "Grid has ", dg[0], " images, needs ", dx[0], " like X");
  if (Differ(dg.back(), spatial)) return Fail(ctx, 7, "Grid has ", dg.back(), " coordinates per position, needs ", spatial);
  Dims out(dg.size());
  out[0] = Merge(dx[0], dg[0]);
  out[1] = dx[1];
  std::copy(dg.begin() + 1, dg.end() - 1, out.begin() + 2);
  ctx.Out("Output", TensorType(x.dtype, std::move(out)));
  return absl::OkStatus();
}

}  // namespace

OpDef GridSamplerDef() {
  return OpDef("grid_sampler")
      .Doc(
          "X [n, c, h, w] (or n, c, d, h, w) sampled at the positions Grid [n, h', w', 2]: x, y (z) from -1 to 1 across X. Outside X lie "
          "zeros, its border or its reflection.")
      .In("X")
      .In("Grid", kFp32)
      .Out("Output")
      .A("mode", "bilinear")
      .A("padding_mode", "zeros")
      .A("align_corners", true)
      .Infer(InferGridSampler)
      .CostIs(PerResult<8>)
      .Amp(
          kInfer,
          "X may be low: a weighted mean is computed in fp32 and rounded once; Grid stays fp32, because an f16 coordinate near 1 has steps "
          "of 0.0005, one pixel of 4096")
      .GradientOp({"X Grid", "Output", "X Grid"})
      .Alias("onnx", "GridSample")
      .Traits({OpTrait::kSampler})
      .NotLowOnCuda();
}

}  // namespace ampc::ops
