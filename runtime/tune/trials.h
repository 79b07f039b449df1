// Trials: runs of a model's assignments on inputs, against its float32 values.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/program.h"
#include "runtime/session.h"
#include "runtime/tensor_map.h"
#include "runtime/tune/tuned_model.h"

namespace ampc {

struct Trial {
  double error = 0;    // the worst of all outputs and inputs: the largest difference over the largest value; infinity where dims or finite
                       // values differ
  bool passed = true;  // by the table of runtime/compare/verdict.h
  std::string why;     // of the first output that does not
  std::vector<double> errors;  // by input, of a whole run
  std::vector<TensorMap> outputs;
  double share = 1;  // of the model that was run, by predicted time
};

class Trials {
 public:
  // Runs the original on `inputs`. The model has to outlive the trials. Errors as Session::Run.
  static absl::StatusOr<std::unique_ptr<Trials>> Create(const TunedModel& model, std::vector<TensorMap> inputs, int threads);
  // Runs it once more on some of them, and keeps the values that ops compute, as far as memory allows.
  absl::Status Keep(const std::vector<int>& inputs);

  // The whole model, each result rounded to its type.
  absl::StatusOr<Trial> Run(const Assignment& low, absl::Span<const int> inputs) const;
  // What Run says of the original, without a run.
  absl::StatusOr<Trial> Original(absl::Span<const int> inputs) const;
  // Of the model only what lies behind the low ops, on the inputs of Keep.
  absl::StatusOr<Trial> RunBehind(const Assignment& low) const;

  int count() const { return static_cast<int>(inputs_.size()); }
  size_t num_kept() const { return kept_inputs_.size(); }
  const TensorMap& input(int index) const { return inputs_[index]; }
  const TensorMap& reference(int input) const { return references_[input]; }

 private:
  using Values = std::vector<HostTensor>;  // by Var::id; without elements where nothing is kept

  Trials(const TunedModel& model, int threads) : model_(model), threads_(threads) {}
  // Removes from the program of `low` what the kept values stand for. False where it has to be run whole.
  bool CutBehind(const Assignment& low, Program* program, double* share) const;
  // Returns the error on this input.
  double Judge(const TensorMap& outputs, int input, Trial* trial) const;

  const TunedModel& model_;
  const int threads_;
  std::optional<Session> original_;
  std::set<std::string> decisions_;  // outputs, runtime/compare/decisions.h
  std::vector<TensorMap> inputs_, references_;
  std::vector<int> kept_inputs_;
  std::vector<Values> values_;  // of each of these
  std::vector<bool> kept_;      // by Var::id: in all of `values_`
};

}  // namespace ampc
