// The operands and attributes of check_finite_and_unscale and update_loss_scaling.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "graph/op.h"
#include "kernels/common/loss_scale.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

LossScalePolicy ReadLossScalePolicy(const Op& op);

// Gradient i is operand first_in + i, its result first_out + i; first_out is -1 where they are only looked at.
struct ScaledGradients {
  int first_in = 0, first_out = 0;
  std::vector<TensorDesc> descs;
  int in_place_input() const { return descs.size() == 1 && first_out == 0 ? first_in : -1; }
};
absl::StatusOr<ScaledGradients> ReadScaledGradients(const SpecView& view);

}  // namespace ampc
