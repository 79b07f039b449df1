#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// Along each side of a bin: a million samples of one bin take a millisecond.
constexpr int64_t kMostSamples = 1024;

absl::Status InferRoiAlign(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 4, 4, 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "ROIs", 2, 2, 2));
  const TensorType& x = ctx.In("X");
  const TensorType& rois = ctx.In("ROIs");
  if (rois.has_rank && Differ(rois.dims[1], 4)) return Fail(ctx, 2, "ROIs has ", rois.dims[1], " numbers per box, needs 4");
  if (rois.dtype != x.dtype && rois.dtype != StatDType(x.dtype) && rois.dtype != DType::kInvalid && x.dtype != DType::kInvalid) {
    return Fail(ctx, 3, "ROIs is ", Name(rois.dtype), ", needs ", Name(StatDType(x.dtype)));
  }
  if (ctx.Has("RoisNum")) {
    AMPC_RETURN_IF_ERROR(NeedRank(ctx, "RoisNum", 1, 1, 4));
    AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "RoisNum", 4));
    const TensorType& num = ctx.In("RoisNum");
    if (x.has_rank && num.has_rank && Differ(num.dims[0], x.dims[0])) {
      return Fail(ctx, 4, "RoisNum has ", num.dims[0], " elements, needs ", x.dims[0], ", the images of X");
    }
  }
  const int64_t height = ctx.op().GetInt("pooled_height"), width = ctx.op().GetInt("pooled_width");
  if (height < 1 || width < 1) return Fail(ctx, 5, "the pooled size is ", height, " x ", width, ", needs positive numbers");
  if (!(ctx.op().GetFloat("spatial_scale") > 0)) {
    return Fail(ctx, 6, "spatial_scale is ", ctx.op().GetFloat("spatial_scale"), ", needs a positive number");
  }
  const std::string mode = ctx.op().GetString("mode");
  if (mode != "avg" && mode != "max") return Fail(ctx, 8, "mode is '", mode, "', needs avg or max");
  const int64_t sampling = ctx.op().GetInt("sampling_ratio");
  if (sampling > kMostSamples) return Fail(ctx, 7, "sampling_ratio is ", sampling, ", needs up to ", kMostSamples);
  ctx.Out("Out", TensorType(x.dtype, {rois.has_rank ? rois.dims[0] : kUnknownDim, x.has_rank ? x.dims[1] : kUnknownDim, height, width}));
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
