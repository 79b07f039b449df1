#include "graph/ops/cost_util.h"
#include "graph/ops/detection_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/prior_ratios.h"

namespace ampc::ops {
namespace {

absl::Status InferPriorBox(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Input", 4, 4, 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Image", 4, 4, 1));
  const std::vector<double> min_sizes = ctx.op().GetFloats("min_sizes");
  const std::vector<double> max_sizes = ctx.op().GetFloats("max_sizes");
  const size_t variances = ctx.op().GetFloats("variances").size();
  if (!max_sizes.empty() && max_sizes.size() != min_sizes.size()) {
    return Fail(ctx, 2, "max_sizes has ", max_sizes.size(), " numbers, needs ", min_sizes.size(), " like min_sizes");
  }
  for (size_t i = 0; i < max_sizes.size(); ++i) {
    if (max_sizes[i] <= min_sizes[i]) return Fail(ctx, 2, "max_sizes has ", max_sizes[i], " at ", i, ", needs more than ", min_sizes[i]);
  }
  if (variances != 4) return Fail(ctx, 3, "variances has ", variances, " numbers, needs 4");
  const std::vector<float> ratios = PriorRatios(ctx.op());
  const int64_t priors = static_cast<int64_t>(ratios.size() * min_sizes.size() + max_sizes.size());
  const TensorType& x = ctx.In("Input");
  TensorType out(x.dtype, {kUnknownDim, kUnknownDim, priors, 4});
  if (x.has_rank) {
    out.dims[0] = x.dims[2];
    out.dims[1] = x.dims[3];
  }
  ctx.Out("Boxes", out);
  ctx.Out("Variances", out);
  return absl::OkStatus();
}

}  // namespace

OpDef PriorBoxDef() {
  OpDef def("prior_box");
  def.Doc(
         "Boxes [h, w, priors, 4], as fractions of Image, around the cells of the feature map Input: one of each min_size and aspect "
         "ratio, "
         "and one between each min_size and max_size; Variances repeats 'variances' for each.")
      .In("Input")
      .In("Image")
      .Out("Boxes")
      .Out("Variances")
      .Required("min_sizes", Floats{})
      .A("max_sizes", Floats{})
      .A("aspect_ratios", Floats{})
      .A("variances", Floats{})
      .A("flip", true)
      .A("clip", true)
      .A("step_w", 0.0f)
      .A("step_h", 0.0f)
      .A("offset", 0.5f)
      .A("min_max_aspect_ratios_order", false)
      .Infer(InferPriorBox)
      .CostIs(PerResult<4>)
      .Gradient("none: made of constants");
  return BoxAmp(def);
}

}  // namespace ampc::ops
