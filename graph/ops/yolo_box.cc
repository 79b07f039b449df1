#include "graph/base/size.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/detection_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferYoloBox(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 4, 4, 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "ImgSize", 2, 2, 2));
  const Op& op = ctx.op();
  const int64_t numbers = static_cast<int64_t>(op.GetInts("anchors").size());
  const int64_t classes = op.GetInt("class_num");
  if (numbers < 2 || numbers % 2 != 0) return Fail(ctx, 3, "anchors has ", numbers, " numbers, needs pairs of width and height");
  if (classes < 1) return Fail(ctx, 4, "class_num is ", classes, ", needs at least 1");
  const int64_t anchors = numbers / 2;
  const int64_t channels = SatMul(anchors, SatAdd(classes, op.GetBool("iou_aware") ? 6 : 5));
  const TensorType& x = ctx.In("X");
  const TensorType& sizes = ctx.In("ImgSize");
  if (x.has_rank && Differ(x.dims[1], channels)) {
    return Fail(ctx, 5, "X has ", x.dims[1], " channels, needs ", channels, " for ", anchors, " anchors and ", classes, " classes");
  }
  int64_t images = x.has_rank ? x.dims[0] : kUnknownDim;
  if (sizes.has_rank) {
    if (Differ(sizes.dims[1], 2)) return Fail(ctx, 6, "ImgSize has ", sizes.dims[1], " numbers per image, needs 2");
    if (Differ(sizes.dims[0], images)) return Fail(ctx, 6, "ImgSize has ", sizes.dims[0], " rows, needs ", images, " like X");
    images = Merge(images, sizes.dims[0]);
  }
  const int64_t cells = x.has_rank ? Product(Slice(x.dims, 2, 4)) : kUnknownDim;
  const int64_t boxes = IsKnown(cells) ? SatMul(anchors, cells) : kUnknownDim;
  ctx.Out("Boxes", TensorType(x.dtype, {images, boxes, 4}));
  ctx.Out("Scores", TensorType(x.dtype, {images, boxes, classes}));
  return absl::OkStatus();
}

}  // namespace

OpDef YoloBoxDef() {
  OpDef def("yolo_box");
  def.Doc(
         "Boxes [n, anchors * h * w, 4] in pixels of images of ImgSize (height, width) and their Scores per class, decoded from the "
         "feature "
         "map X; zeros where the confidence is below conf_thresh.")
      .In("X")
      .In("ImgSize", kAsIs)
      .Out("Boxes")
      .Out("Scores")
      .A("anchors", Ints{})
      .A("class_num", 1)
      .A("conf_thresh", 0.01f)
      .A("downsample_ratio", 32)
      .A("clip_bbox", true)
      .A("scale_x_y", 1.0f)
      .A("iou_aware", false)
      .A("iou_aware_factor", 0.5f)
      .Infer(InferYoloBox)
      .CostIs(PerOperand<4>)
      .Gradient("none: used in inference only");
  return BoxAmp(def);
}

}  // namespace ampc::ops
