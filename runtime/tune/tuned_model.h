// TunedModel: a model whose ops can be given types: what may be low, the fastest assignment for a price of error, the program of an
// assignment, and what is predicted of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/evaluator.h"
#include "graph/program.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/decide/low_penalty.h"
#include "passes/amp/decide/plan.h"
#include "passes/amp/decide/predicted_run.h"
#include "passes/analysis/time_model.h"
#include "runtime/convert/options.h"
#include "runtime/tensor_map.h"

namespace ampc {

using Assignment = std::vector<bool>;  // by Op::id of TunedModel::program(): low

class TunedModel {
 public:
  // Reads the model and decides at O2. Errors as Convert's; a usage error for a model that was converted before.
  static absl::StatusOr<std::unique_ptr<TunedModel>> Load(const ConvertOptions& options);

  const ConvertOptions& options() const { return options_; }  // in effect
  const Program& program() const { return program_; }         // float32, marked, nothing rewritten
  const std::vector<std::string>& notes() const { return notes_; }
  // Low at O2, and not because the user asks for it; in program order.
  const std::vector<const Op*>& candidates() const { return candidates_; }
  const DeviceNumbers& device() const { return device_; }

  // From now on times are for feeds of these dims.
  void UseSizesOf(const TensorMap& feeds);

  // The assignment that costs least time and penalty.
  absl::StatusOr<Assignment> Fastest(const LowPenalty& penalty) const;
  // No candidate is low.
  Assignment Fp32() const;
  absl::StatusOr<std::unique_ptr<AmpDecision>> Decide(const Assignment& low) const;
  // As `convert --plan` makes it of PlanText.
  absl::StatusOr<Program> Rewrite(const Assignment& low) const;
  // The file for that, with a reason for each candidate that is fp32; others have those of O2.
  std::string PlanText(const Assignment& low, const std::map<int, std::string>& reasons) const;

  PredictedRun Predicted(const AmpDecision& decision) const;
  double OpSeconds(const Op& op, bool low) const { return time_->OpSeconds(op, low); }
  double WeightBytes(const AmpDecision& decision) const;

 private:
  TunedModel(const ConvertOptions& options, Program program);
  absl::Status FindCandidates();
  void SetSizes(ProgramSizes sizes);
  PassContext Context() const;
  // O2 with these ops, in a context that has the decision afterwards.
  absl::Status DecideIn(const Assignment& low, PassContext* ctx, Program& program) const;

  const ConvertOptions options_;
  Program program_;
  const DeviceNumbers& device_;
  const std::unique_ptr<Evaluator> evaluator_;
  const PrecisionSupport* support_ = nullptr;
  ProgramSizes sizes_;
  std::optional<TimeModel> time_;  // of these
  Plan o2_;
  std::vector<int> entry_;  // of o2_, by Op::id
  std::vector<const Op*> candidates_;
  std::vector<std::string> notes_;
};

}  // namespace ampc
