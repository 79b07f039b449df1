#include "graph/ops/detection_util.h"

#include <utility>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// Scores [images, classes, boxes] share boxes [images, boxes, size] among classes; Scores [boxes, classes] have their own, [boxes, classes,
// 4].
absl::Status InferNms(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "BBoxes", 3, 3, 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Scores", 2, 3, 2));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "BBoxes", "Scores", 3));
  const TensorType& boxes = ctx.In("BBoxes");
  const TensorType& scores = ctx.In("Scores");
  const bool shared = scores.rank() == 3;
  const int64_t size = boxes.has_rank ? boxes.dims[2] : kUnknownDim;
  if (IsKnown(size) && size != 4 && size != 8 && size != 16 && size != 24 && size != 32) {
    return Fail(ctx, 4, "BBoxes has ", size, " numbers per box, needs 4 for rectangles, or 8, 16, 24 or 32 for polygons");
  }
  int64_t images = kUnknownDim;
  if (boxes.has_rank && scores.has_rank) {
    const int64_t have = scores.dims[shared ? 2 : 1];
    if (Differ(have, boxes.dims[1])) {
      return Fail(ctx, 5, "Scores has ", have, shared ? " boxes" : " classes", ", needs ", boxes.dims[1], " like BBoxes");
    }
    if (Differ(scores.dims[0], boxes.dims[0])) {
      return Fail(ctx, 5, "Scores has ", scores.dims[0], shared ? " images" : " boxes", ", needs ", boxes.dims[0], " like BBoxes");
    }
    if (shared) images = scores.dims[0];
  }
  if (ctx.Has("RoisNum") && scores.rank() == 2 && ctx.In("RoisNum").rank() == 1) images = ctx.In("RoisNum").dims[0];
  ctx.Out("Out", TensorType(boxes.dtype, {kUnknownDim, IsKnown(size) ? size + 2 : kUnknownDim}));
  ctx.Out("Index", TensorType(DType::kI32, {kUnknownDim, 1}));
  ctx.Out("NmsRoisNum", TensorType(DType::kI32, {images}));
  return absl::OkStatus();
}

}  // namespace

OpDef MulticlassNms(std::string name, std::string doc, bool index, bool counts) {
  OpDef def(std::move(name));
  def.Doc(std::move(doc)).In("BBoxes").In("Scores");
  if (counts) def.OptIn("RoisNum", kAsIs);
  def.Out("Out");
  if (index) def.OptOut("Index", kAsIs);
  if (counts) def.OptOut("NmsRoisNum", kAsIs);
  def.Required("score_threshold", 0.0f)
      .Required("nms_top_k", int32_t{0})
      .Required("keep_top_k", int32_t{0})
      .A("nms_threshold", 0.3f)
      .A("normalized", true)
      .A("nms_eta", 1.0f)
      .A("background_label", 0)
      .Infer(InferNms)
      .CostIs([](const Op& op) {
        return Cost{10 * Elements(op.input("Scores")->type), TotalBytes(op)};
      })
      .Gradient("none: selects boxes");
  return BoxAmp(def);
}

absl::StatusOr<TensorType> InferRegions(InferContext& ctx) {
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
  return TensorType(x.dtype, {rois.has_rank ? rois.dims[0] : kUnknownDim, x.has_rank ? x.dims[1] : kUnknownDim, height, width});
}

OpDef& BoxAmp(OpDef& def) {
  return def
      .Amp(kDeny, "an f16 coordinate above 2048 is off by up to a whole pixel, and scores that differ by less than 2^-11 become equal")
      .NotLowOnCuda();
}

}  // namespace ampc::ops
