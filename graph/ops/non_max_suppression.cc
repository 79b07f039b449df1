#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {
namespace {

absl::Status InferNonMaxSuppression(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Boxes", 3, 3, 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Scores", 3, 3, 2));
  const TensorType& boxes = ctx.In("Boxes");
  const TensorType& scores = ctx.In("Scores");
  if (boxes.has_rank && Differ(boxes.dims[2], 4)) return Fail(ctx, 1, "Boxes has ", boxes.dims[2], " numbers per box, needs 4");
  if (boxes.has_rank && scores.has_rank && (Differ(boxes.dims[0], scores.dims[0]) || Differ(boxes.dims[1], scores.dims[2]))) {
    return Fail(ctx, 3, "Scores is ", ToString(scores), ", needs one score per class for each box of ", ToString(boxes));
  }
  if (ctx.Has("MaxOutputBoxes")) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "MaxOutputBoxes", {DType::kI32, DType::kI64}, 4));
  for (const char* slot : {"IouThreshold", "ScoreThreshold"}) {
    if (ctx.Has(slot)) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, slot, {}, 5));
  }
  ctx.Out("Out", TensorType(DType::kI64, {kUnknownDim, 3}));
  return absl::OkStatus();
}

}  // namespace

OpDef NonMaxSuppressionDef() {
  return OpDef("non_max_suppression")
      .Doc(
          "Rows (image, class, box) of the boxes [n, b, 4] whose scores [n, classes, b] are above ScoreThreshold, best first, that overlap "
          "no "
          "chosen one by more than IouThreshold, at most MaxOutputBoxes per class. A box is two corners (y, x, y, x) in any order, or "
          "centre and "
          "size (x, y, w, h) where 'center_point_box'.")
      .In("Boxes", kAsIs)
      .In("Scores", kAsIs)
      .OptIn("MaxOutputBoxes", kAsIs)
      .OptIn("IouThreshold", kAsIs)
      .OptIn("ScoreThreshold", kAsIs)
      .Out("Out", kAsIs)
      .A("center_point_box", false)
      .Infer(InferNonMaxSuppression)
      .CostIs(PerOperand<16>)
      .Amp(kNever, "f16 scores tie, and their order decides which boxes stay")
      .Gradient("none: an integer result")
      .Alias("onnx", "NonMaxSuppression")
      .Traits({OpTrait::kChooser});
}

}  // namespace ampc::ops
