// Loss scaling: the loss times a scale before the gradients, the gradients by it after them, and the scale that follows what was found.
//
//   loss_scaling_0 : f32 [1]                           scaled = elementwise_mul(loss, loss_scaling_0)
//   scaled@GRAD ... w@GRAD, b@GRAD                     (append-backward)
//   check_finite_and_unscale(X=[w@GRAD, b@GRAD], Scale=loss_scaling_0) -> Out, FoundInfinite=found
//   update_loss_scaling(X=.., FoundInfinite=found, ..) -> Out (zeroed where found), loss_scaling_0, num_good_steps_0, num_bad_steps_0
//
// `found` goes to every optimizer. A fixed scale has no update_loss_scaling. Ops and names are those of Paddle's static AMP.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "graph/program.h"
#include "passes/autodiff/append_backward.h"

namespace ampc {

struct LossScalingOptions {
  double init = 65536;  // positive; 1 and not dynamic: the loss is not scaled
  bool dynamic = true;
  // The scale times incr_ratio (> 1) after so many good steps in a row, times decr_ratio (in (0, 1)) after so many bad ones.
  int incr_every_n_steps = 2000;
  int decr_every_n_nan_or_inf = 1;
  double incr_ratio = 2, decr_ratio = 0.5;
  double floor = 1;  // the scale does not fall below, nor rise above `cap`; 0: no cap
  double cap = 0;
};

// One scale of a program. Both counters are null where it is fixed.
struct LossScaler {
  LossScalingOptions options;
  Var* scale = nullptr;
  Var* good_steps = nullptr;
  Var* bad_steps = nullptr;
  bool active() const { return options.dynamic || options.init != 1; }
};

// How gradients are checked.
struct UnscaleRules {
  bool by_type = false;      // fp32 gradients and low ones by ops of their own, each with a flag; else all by one
  bool join_always = false;  // concat and reduce_any also where there is one flag only
};

// Declares loss_scaling_<k>, and num_good_steps_<k>, num_bad_steps_<k> where it is dynamic; ops of `startup` fill them. Usage errors
// for options out of range.
absl::StatusOr<LossScaler> AddLossScaler(Program& program, Program& startup, const LossScalingOptions& options);

// The loss in fp32 times the scale; the fp32 loss itself where the scaler is not active. Appended to the loss's block.
absl::StatusOr<Var*> ScaleLoss(Program& program, Var& loss, const LossScaler& scaler);

// Appends the check and the update; the entries' gradients become the unscaled ones. Returns the flag, null where the scaler is not
// active or nothing has a gradient.
absl::StatusOr<Var*> UnscaleGradients(Program& program, const LossScaler& scaler, const UnscaleRules& rules,
                                      std::vector<VarGradient>& gradients);

// One flag for several: the or of them. Appends a concat and a reduce_any.
absl::StatusOr<Var*> JoinFlags(Program& program, const std::vector<Var*>& flags);

}  // namespace ampc
