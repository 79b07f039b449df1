// UpdateWriter: appends the ops of one Optimizer::ApplyGradients.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/append_op.h"
#include "passes/train/optimizer.h"

namespace ampc {

class UpdateWriter {
 public:
  UpdateWriter(Optimizer& optimizer, Program& main, Program& startup, Var* found_inf, const ApplyOptions& options)
      : o_(optimizer), main_(main), startup_(startup), found_inf_(found_inf), options_(options) {}

  absl::StatusOr<std::vector<ParamUpdate>> Run(absl::Span<const VarGradient> gradients);

 private:
  bool Is(OptimizerStyle style) const { return options_.style == style; }
  bool own() const { return Is(OptimizerStyle::kOwn); }
  // adamw of 2.0: decay as ops before an adam.
  bool decomposed() const { return o_.type_ == "adamw" && Is(OptimizerStyle::kPaddle20); }
  bool UsesMaster(const Var& param) const;
  absl::Status CheckGradient(const VarGradient& entry) const;
  absl::Status ReadGradients(absl::Span<const VarGradient> gradients);

  // A state named <base>_<k>, found again when this optimizer made it before. `device` is where its first value is made.
  absl::StatusOr<Var*> State(const std::string& base, TensorType type, double value, absl::string_view device = "");
  absl::Status MakeLearningRate();
  absl::StatusOr<Var*> Master(Var& param);
  absl::Status AddSkip();
  // gradient + weight_decay * param.
  absl::Status Regularize(VarGradient& entry, Var* master);
  absl::StatusOr<Var*> DecayedParam(const VarGradient& entry, Var* master);
  // param *= 1 - lr * weight_decay.
  absl::Status DecayInPlace(const VarGradient& entry, Var* master, absl::string_view scope);
  absl::Status AddMoments(Var& weight, SlotVars& operands, SlotVars& results);
  std::vector<Attr> AttrsFor(const std::string& param, bool master) const;
  absl::StatusOr<ParamUpdate> Update(const VarGradient& entry, Var* master, int number);
  absl::Status AddSchedule();

  Optimizer& o_;
  Program& main_;
  Program& startup_;
  Var* found_inf_;
  Var* skip_ = nullptr;  // what the update ops read as SkipUpdate; null for nothing
  const ApplyOptions& options_;
  Var* lr_ = nullptr;
  bool new_lr_ = false;
  std::vector<VarGradient> gradients_;  // sorted by param name
};

}  // namespace ampc
