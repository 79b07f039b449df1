#include <utility>

#include "graph/ops/cost_util.h"
#include "graph/ops/detection_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// Along each side of a bin: a million samples of one bin take a millisecond.
constexpr int64_t kMostSamples = 1024;

absl::Status InferRoiAlign(InferContext& ctx) {
  AMPC_ASSIGN_OR_RETURN(TensorType pooled, InferRegions(ctx));
  const std::string mode = ctx.op().GetString("mode");
  if (mode != "avg" && mode != "max") return Fail(ctx, 8, "mode is '", mode, "', needs avg or max");
  const int64_t sampling = ctx.op().GetInt("sampling_ratio");
  if (sampling > kMostSamples) return Fail(ctx, 7, "sampling_ratio is ", sampling, ", needs up to ", kMostSamples);
  ctx.Out("Out", std::move(pooled));
  return absl::OkStatus();
}

}  // namespace

OpDef RoiAlignDef() {
  return OpDef("roi_align")
      .Doc(
          "Each box of ROIs [k, 4] (x1, y1, x2, y2, times spatial_scale) of X pooled to pooled_height x pooled_width: a bin is the mean of "
          "bilinear samples, sampling_ratio squared of them or one per pixel, or in mode max the largest product of a weight and an "
          "element "
          "in one. RoisNum counts the boxes of each image.")
      .In("X")
      .In("ROIs", kFp32)
      .OptIn("RoisNum", kAsIs)
      .Out("Out")
      .A("pooled_height", 1)
      .A("pooled_width", 1)
      .A("spatial_scale", 1.0f)
      .A("sampling_ratio", -1)
      .A("aligned", false)
      .A("mode", "avg")
      .Infer(InferRoiAlign)
      .CostIs(PerResult<40>)
      .Amp(
          kInfer,
          "X may be low: means are taken in fp32 and rounded once; ROIs stay fp32, because an f16 coordinate above 2048 loses whole pixels")
      .GradientOp({"X ROIs RoisNum", "Out", "X"})
      .Alias("onnx", "RoiAlign")
      .Traits({OpTrait::kSampler})
      .NotLowOnCuda();
}

}  // namespace ampc::ops
