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
#include "runtime/train/scalers.h"

namespace ampc {

class StepRunner {
 public:
  // Adds the sums of gradients to `scope` when accumulate > 1. The scope has everything else that `main` keeps.
  // `target`: null for the CPU.
  static absl::StatusOr<StepRunner> Create(const Program& main, int accumulate, int threads, Scope& scope, const DeviceTarget* target = nullptr);

  // `feeds` follow main.feeds. Runs the gradients and, with `update`, what uses them; `observer` may be null. Adds to `fetches`.
  absl::Status Run(absl::Span<const HostTensor* const> feeds, bool update, StepObserver* observer, TensorMap* fetches);

  // The same without fetches and without found_inf(); on a device the host does not wait, as far as the programs let it.
  absl::Status Enqueue(absl::Span<const HostTensor* const> feeds, bool update);

  // What the last update of a Run found, by scaler of main in the order of FindScalers.
  const std::vector<bool>& found_inf() const { return found_inf_; }
  const std::vector<std::string>& sums() const { return sums_; }
  // Names of the variables of the scope that a step writes, each once.
  const std::vector<std::string>& written() const { return written_; }
  int64_t arena_bytes() const;

 private:
  // A flag of a scaler: a fetch of the part that updates, or a variable of the scope.
  struct Flag {
    int scaler = 0;
    int fetch = -1;
    std::string variable;
  };
  struct Part {
    std::unique_ptr<ProgramRunner> runner;
    std::vector<int> feeds;  // indexes into main.feeds
    size_t fetches = 0;      // of the caller; flags follow
  };

  absl::Status AddPart(Program program, std::vector<int> feeds, const RunnerOptions& options);
  void AddFlags(const std::vector<ScalerView>& scalers, Program& program);
  absl::Status ReadFlags(absl::Span<const HostTensor> results);

  Scope* scope_ = nullptr;
  std::vector<Part> parts_;  // gradients and update together, or one after the other
  std::vector<Flag> flags_;
  std::vector<bool> found_inf_;
  std::vector<std::string> sums_;
  std::vector<std::string> written_;
};

}  // namespace ampc
