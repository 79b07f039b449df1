#include "kernels/spec/optimizer/loss_scaling_spec.h"

namespace ampc {

LossScalePolicy ReadLossScalePolicy(const Op& op) {
  return {static_cast<int32_t>(op.GetInt("incr_every_n_steps")), static_cast<int32_t>(op.GetInt("decr_every_n_nan_or_inf")),
          static_cast<float>(op.GetFloat("incr_ratio")),         static_cast<float>(op.GetFloat("decr_ratio")),
          static_cast<float>(op.GetFloat("min_loss_scaling")),   static_cast<float>(op.GetFloat("max_loss_scaling"))};
}

}  // namespace ampc
