#include "graph/ops/cost_util.h"
#include "graph/ops/detection_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferMatrixNms(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "BBoxes", 3, 3, 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Scores", 3, 3, 2));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "BBoxes", "Scores", 3));
  const TensorType& boxes = ctx.In("BBoxes");
  const TensorType& scores = ctx.In("Scores");
  if (boxes.has_rank && Differ(boxes.dims[2], 4)) return Fail(ctx, 4, "BBoxes has ", boxes.dims[2], " numbers per box, needs 4");
  if (boxes.has_rank && scores.has_rank && (Differ(boxes.dims[0], scores.dims[0]) || Differ(boxes.dims[1], scores.dims[2]))) {
    return Fail(ctx, 5, "Scores is ", ToString(scores), ", needs the images and boxes of BBoxes, which is ", ToString(boxes));
  }
  ctx.Out("Out", TensorType(boxes.dtype, {kUnknownDim, 6}));
  ctx.Out("Index", TensorType(DType::kI32, {kUnknownDim, 1}));
  ctx.Out("RoisNum", TensorType(DType::kI32, {scores.has_rank ? scores.dims[0] : kUnknownDim}));
  return absl::OkStatus();
}

}  // namespace

OpDef MatrixNmsDef() {
  OpDef def("matrix_nms");
  def.Doc(
         "Per class of Scores [images, classes, boxes] the boxes of BBoxes [images, boxes, 4], each score lowered by how much better boxes "
         "overlap it: rows "
         "[label, score, box] above 'post_threshold', the best 'keep_top_k' of each image; their places in Index, their number per image "
         "in RoisNum.")
      .In("BBoxes")
      .In("Scores")
      .Out("Out")
      .OptOut("Index", kAsIs)
      .OptOut("RoisNum", kAsIs)
      .Required("score_threshold", 0.0f)
      .Required("nms_top_k", int32_t{0})
      .Required("keep_top_k", int32_t{0})
      .A("post_threshold", 0.0f)
      .A("use_gaussian", false)
      .A("gaussian_sigma", 2.0f)
      .A("background_label", 0)
      .A("normalized", true)
      .Infer(InferMatrixNms)
      .CostIs([](const Op& op) {
        return Cost{10 * Elements(op.input("Scores")->type), TotalBytes(op)};
      })
      .Gradient("none: selects boxes");
  return BoxAmp(def);
}

}  // namespace ampc::ops
