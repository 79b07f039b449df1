// Decorate: an optimizer that trains in mixed precision.
//
//   auto optimizer = amp::Decorate(Momentum({.lr = 0.01, .momentum = 0.9}), {.init_loss_scaling = 32768, .use_pure_fp16 = true});
//   AMPC_RETURN_IF_ERROR(optimizer->Minimize(builder, loss));
//   AMPC_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(builder.Build(), trainer_options));
//   AMPC_RETURN_IF_ERROR(optimizer->AmpInit(trainer_options, trainer.scope(), {.test_program = &test}));
//
// Minimize is Backward and ApplyGradients: the forward part is rewritten (casts, low weights), the loss cast to fp32 and scaled,
// gradients appended; then these are unscaled and checked, the scale is moved, and the optimizer's ops see the flag: a step whose
// gradients are not finite changes nothing but the scale. A first error is kept; every later call returns it.
//
// Several losses: Backward for each, then ApplyGradients once with all the gradients. Each loss has a scale of its own, and an overflow
// skips the parameters that the loss reaches, no others. Another decorated optimizer may minimize another loss of the same program.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/builder.h"
#include "passes/train/optimizer.h"
#include "runtime/exec/scope.h"
#include "runtime/train/amp_rewrite.h"
#include "runtime/train/decorate_options.h"
#include "runtime/train/trainer.h"

namespace ampc::amp {

struct AmpInitOptions {
  Program* test_program = nullptr;     // not rewritten yet: cloned before Minimize, or built apart with the same names
  bool use_fp16_test = false;          // at O1 the test program is rewritten only then; at O2 it must be
  bool rewrite_master_weight = false;  // masters become what the rounded weights are: after loading other weights into the scope
};

class OptimizerWithMixedPrecision {
 public:
  OptimizerWithMixedPrecision(Optimizer optimizer, DecorateOptions options);

  absl::Status Minimize(ProgramBuilder& builder, Value loss, const BackwardOptions& wanted = {});
  absl::Status Minimize(Program& main, Program& startup, Var& loss, const BackwardOptions& wanted = {});

  // The gradients of the scaled loss. An error for a loss that is no scalar, and those of append-backward and amp-decide.
  absl::StatusOr<std::vector<VarGradient>> Backward(Program& main, Program& startup, Var& loss, const BackwardOptions& wanted = {});
  // Takes what Backward gave, of one loss or of several one behind the other; entries may be left out.
  absl::StatusOr<std::vector<ParamUpdate>> ApplyGradients(Program& main, Program& startup, std::vector<VarGradient> gradients);

  // Declares low in `scope` what the rewriting declared low, and rewrites the test program. After the startup program ran and weights
  // were loaded. Usage error before Minimize, and for a parameter that the scope does not have.
  absl::Status AmpInit(const TrainerOptions& trainer_options, ampc::Scope& scope, const AmpInitOptions& options = {});

  // Names of variables; usage errors before Backward. With several losses those of the last one.
  absl::StatusOr<std::string> get_scaled_loss() const;
  absl::StatusOr<std::string> get_loss_scaling() const;

  const absl::Status& status() const { return status_; }
  const AmpSettings& settings() const { return settings_; }
  // Of the forward rewriting: weights declared low, and what the user should know.
  const AmpRewrite& rewrite() const { return rewrite_; }

 private:
  struct Loss {
    LossScaler scaler;
    std::string scaled;
    std::vector<int> gradients;  // Var::id of what Backward gave
  };

  absl::StatusOr<std::vector<VarGradient>> TryBackward(Program& main, Program& startup, Var& loss, const BackwardOptions& wanted);
  absl::StatusOr<std::vector<ParamUpdate>> TryApply(Program& main, Program& startup, std::vector<VarGradient> gradients);
  absl::Status TryInit(ampc::Scope& scope, const AmpInitOptions& options);
  UnscaleRules Rules() const;

  Optimizer optimizer_;
  DecorateOptions options_;
  AmpSettings settings_;
  AmpRewrite rewrite_;
  std::vector<Loss> losses_;
  std::map<std::string, std::string> masters_;  // by param
  absl::Status status_;
};

// The error of options that contradict each other is kept as the first one.
std::unique_ptr<OptimizerWithMixedPrecision> Decorate(Optimizer optimizer, DecorateOptions options = {});

}  // namespace ampc::amp
