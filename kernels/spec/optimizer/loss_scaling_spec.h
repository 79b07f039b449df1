// The attributes of update_loss_scaling.
#pragma once

#include "graph/op.h"
#include "kernels/common/loss_scale.h"

namespace ampc {

LossScalePolicy ReadLossScalePolicy(const Op& op);

}  // namespace ampc
