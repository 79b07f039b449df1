// Optimizers: append the ops that update parameters by their gradients, to a program and its startup program.
//
//   Optimizer optimizer = Momentum({.lr = 0.01, .momentum = 0.9, .multi_precision = true});
//   AMPC_ASSIGN_OR_RETURN(std::vector<VarGradient> gradients, AppendBackward(program, loss));
//   AMPC_RETURN_IF_ERROR(optimizer.ApplyGradients(program, startup, gradients).status());
//
// Names, slots, attributes, defaults and the order of ops are Paddle's. With multi_precision a low parameter (f16, bf16) has an f32 master
// weight, made of its unrounded first value; moments are f32 and belong to the master. A step with found_inf changes nothing.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/program.h"
#include "passes/autodiff/append_backward.h"
#include "passes/train/optimizer_options.h"

namespace ampc {

// How the appended ops look.
enum class OptimizerStyle : uint8_t {
  kOwn,       // clipped gradients are new values; found_inf is the SkipUpdate of every update op
  kPaddle20,  // 2.0: no multi_precision for sgd and no lamb master; adamw is scale + assign + adam; norms by square and reduce_sum
  kPaddle24,  // 2.4: clip and decay write the gradient's variable again; adamw and lamb have SkipUpdate
  kPaddle26,  // 2.6: adam too; adam's and adamw's comes from a memcpy
};

struct ApplyOptions {
  OptimizerStyle style = OptimizerStyle::kOwn;
  // found_inf also reaches the update ops of a Paddle style whose release forgot it (the decomposed decay of 2.0 stays without).
  bool skip_everywhere = true;
};

struct ParamUpdate {
  Var* param = nullptr;
  Var* gradient = nullptr;  // as the update op reads it: clipped, with decay
  Var* master = nullptr;    // null without a master weight
  Op* op = nullptr;
};

// A value. The states that it made in a program are found again by name when it is applied to the same program twice (several losses);
// another optimizer gets states of its own, and shares the master weights.
class Optimizer {
 public:
  // Appends clipping, weight decay, the updates sorted by param name and the schedule's step to the main block; states go to both
  // programs, what fills them once to `startup`. Entries without a gradient are left out. `found_inf` is one bool of the main block, or
  // null. Ops have the role Optimize. Errors: options out of range, a gradient whose type is neither its
  // param's nor f32, an update of something that is no param.
  absl::StatusOr<std::vector<ParamUpdate>> ApplyGradients(Program& main, Program& startup, absl::Span<const VarGradient> gradients,
                                                          Var* found_inf = nullptr, const ApplyOptions& options = {});

  const std::string& type() const { return type_; }  // "sgd", "momentum", "adam", "adamw", "lamb"
  const LearningRate& learning_rate() const { return lr_; }
  // The state in a program that this optimizer was applied to; empty before.
  const std::string& learning_rate_name() const { return lr_name_; }
  bool multi_precision() const { return multi_precision_; }
  void set_multi_precision(bool on) { multi_precision_ = on; }

 private:
  friend class UpdateWriter;
  friend Optimizer Sgd(const SgdOptions&);
  friend Optimizer Momentum(const MomentumOptions&);
  friend Optimizer Adam(const AdamOptions&);
  friend Optimizer AdamW(const AdamWOptions&);
  friend Optimizer Lamb(const LambOptions&);
  Optimizer(std::string type, LearningRate lr, bool multi_precision, double weight_decay, ParamFilter decay, GradientClip clip);

  std::string type_;
  LearningRate lr_;
  bool multi_precision_;
  double weight_decay_;
  ParamFilter decay_;
  GradientClip clip_;
  std::map<std::string, double> numbers_;  // attributes of the update op: "mu", "beta1", ...
  std::map<std::string, bool> flags_;
  std::function<double(absl::string_view)> lr_ratio_;
  std::string lr_name_;
  std::map<std::string, std::string> states_;  // "<param or master>_velocity" -> the variable
};

Optimizer Sgd(const SgdOptions& options = {});
Optimizer Momentum(const MomentumOptions& options = {});
Optimizer Adam(const AdamOptions& options = {});
Optimizer AdamW(const AdamWOptions& options = {});
Optimizer Lamb(const LambOptions& options = {});

// The optimizer of that name in any case; a usage error that lists the names otherwise.
absl::StatusOr<Optimizer> OptimizerFromName(absl::string_view name, const CommonOptimizerOptions& options = {});

}  // namespace ampc
