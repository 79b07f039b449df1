// StepRunner: the one or two programs that a training step runs on a scope.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/program.h"
#include "kernels/device/open_device.h"
#include "runtime/exec/program_runner.h"
#include "runtime/exec/scope.h"
#include "runtime/tensor_map.h"
#include "runtime/train/skipped_steps.h"

namespace ampc {

struct StepOptions {
  int accumulate = 1;
  int threads = 1;
  std::string loss = "";                 // a step in which it is not finite is skipped; "": none
  bool put_back = true;                  // what a skipped step has written (runtime/train/skipped_steps.h)
  const DeviceTarget* target = nullptr;  // null: the CPU
};

// The calls of one update.
struct StepPart {
  bool first = true;  // of those calls
  bool last = true;   // with the update
};

class StepRunner {
 public:
  // Adds the sums of gradients to `scope` when accumulate > 1, and copies of what is put back. The scope has everything else that `main`
  // keeps.
  static absl::StatusOr<StepRunner> Create(const Program& main, const StepOptions& options, Scope& scope);

  // `feeds` follow main.feeds. Runs the gradients and, at the last call, what uses them; `observer` may be null. Adds to `fetches`.
  absl::Status Run(absl::Span<const HostTensor* const> feeds, StepPart part, StepObserver* observer, TensorMap* fetches);

  // The same without fetches and without found_inf(); on a device the host does not wait, as far as the programs let it.
  absl::Status Enqueue(absl::Span<const HostTensor* const> feeds, StepPart part);

  // The overflows that the last update of a Run found, by scaler of main in the order of FindScalers.
  const std::vector<bool>& found_inf() const { return found_inf_; }
  // Of the last call of Run, and of the calls of the last update, on all processes; true without StepOptions::loss.
  bool loss_was_finite() const { return loss_was_finite_; }
  bool all_losses_were_finite() const { return all_losses_were_finite_; }
  const std::vector<std::string>& sums() const { return sums_; }
  // Names of the variables of the scope that have a meaning between the calls of one update only: the sums, and copies.
  const std::vector<std::string>& transient() const { return transient_; }
  // Names of the variables of the scope that a step writes, each once.
  const std::vector<std::string>& written() const { return written_; }
  int64_t arena_bytes() const;

 private:
  // A flag of a scaler, or whether the loss is not finite: a fetch of the part that updates, or a variable of the scope.
  struct Flag {
    int scaler = 0;  // -1: of the loss
    int fetch = -1;
    std::string variable;
  };
  struct Part {
    std::unique_ptr<ProgramRunner> runner;
    std::vector<int> feeds;  // indexes into main.feeds
    size_t fetches = 0;      // of the caller; flags follow
  };

  absl::Status AddWhole(Program program, const std::vector<PutBackState>& states, const RunnerOptions& options);
  absl::Status AddSplit(const Program& program, int accumulate, const std::vector<PutBackState>& states, const RunnerOptions& options);
  absl::Status AddTransient(const Program& program, const std::vector<std::string>& names);
  absl::Status AddPart(Program program, std::vector<int> feeds, size_t fetches, const RunnerOptions& options);
  void AddFlags(Program& program);
  void AddZero(Program& program);
  absl::Status ReadFlags(absl::Span<const HostTensor> results);

  Scope* scope_ = nullptr;
  std::vector<std::vector<std::string>> scalers_;  // names of the flags of each
  LossCheck loss_;                                 // without StepOptions::loss: empty names
  std::unique_ptr<ProgramRunner> keep_;            // runs before the first call of an update; null for nothing to do
  int zero_fetch_ = -1;                            // of the first part: LossCheck::zero
  std::vector<Part> parts_;                        // gradients and update together, or one after the other
  std::vector<Flag> flags_;
  std::vector<bool> found_inf_;
  bool loss_was_finite_ = true, all_losses_were_finite_ = true;
  std::vector<std::string> sums_;
  std::vector<std::string> transient_;
  std::vector<std::string> written_;
};

}  // namespace ampc
