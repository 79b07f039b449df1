#include "kernels/spec/optimizer/loss_scaling_spec.h"

#include <algorithm>

#include "graph/base/status_macros.h"

namespace ampc {

LossScalePolicy ReadLossScalePolicy(const Op& op) {
  return {static_cast<int32_t>(op.GetInt("incr_every_n_steps")), static_cast<int32_t>(op.GetInt("decr_every_n_nan_or_inf")),
          static_cast<float>(op.GetFloat("incr_ratio")),         static_cast<float>(op.GetFloat("decr_ratio")),
          static_cast<float>(op.GetFloat("min_loss_scaling")),   static_cast<float>(op.GetFloat("max_loss_scaling"))};
}

absl::StatusOr<ScaledGradients> ReadScaledGradients(const SpecView& view) {
  ScaledGradients g;
  g.first_in = std::max(0, view.In("X"));
  g.first_out = view.NumOut("Out") == 0 ? -1 : view.Out("Out");
  if (view.NumOut("Out") > 0 && view.NumIn("X") != view.NumOut("Out")) return view.Internal("X and Out differ in number");
  for (int i = 0; i < view.NumIn("X"); ++i) {
    AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("X", i).dtype, {DType::kF32, DType::kF64}));
    g.descs.push_back(view.InDesc("X", i));
  }
  return g;
}

}  // namespace ampc
