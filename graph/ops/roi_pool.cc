#include "graph/ops/cost_util.h"
#include "graph/ops/detection_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferRoiPool(InferContext& ctx) {
  AMPC_ASSIGN_OR_RETURN(const TensorType pooled, InferRegions(ctx));
  ctx.Out("Out", pooled);
  ctx.Out("Argmax", pooled.WithDType(DType::kI64));
  return absl::OkStatus();
}

}  // namespace

OpDef RoiPoolDef() {
  return OpDef("roi_pool")
      .Doc(
          "Each box of ROIs [k, 4] (x1, y1, x2, y2, times spatial_scale, rounded to pixels) of X pooled to pooled_height x pooled_width: a "
          "bin is its "
          "largest pixel, 0 where it has none. RoisNum counts the boxes of each image; Argmax says which pixel of the image it is, -1 for "
          "none.")
      .In("X")
      .In("ROIs", kFp32)
      .OptIn("RoisNum", kAsIs)
      .Out("Out")
      .OptOut("Argmax", kAsIs)
      .A("pooled_height", 1)
      .A("pooled_width", 1)
      .A("spatial_scale", 1.0f)
      .Infer(InferRoiPool)
      .CostIs(PerResult<40>)
      .Amp(kInfer, "X may be low: a bin is one of its elements; ROIs stay fp32, because an f16 coordinate above 2048 loses whole pixels")
      .Gradient("none: networks with it are only run")
      .Traits({OpTrait::kSampler})
      .NotLowOnCuda();
}

}  // namespace ampc::ops
