// ProgramRunner: a program made ready to run: passes applied, weights loaded, plans made per dims of the feeds and kept.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "graph/program.h"
#include "kernels/device/open_device.h"
#include "kernels/weight_cache.h"
#include "runtime/exec/block_runner.h"
#include "runtime/exec/plan_cache.h"
#include "runtime/exec/scope.h"
#include "runtime/exec/scope_mirror.h"
#include "runtime/plan/constants.h"
#include "runtime/plan/device_constants.h"
#include "runtime/plan/liveness.h"
#include "runtime/plan/plan_target.h"
#include "runtime/plan/state_table.h"
#include "runtime/tensor_map.h"

namespace ampc {

struct RunnerOptions {
  int threads = 1;
  bool fuse = true;               // ops may be joined, so that some values are not rounded in between
  bool excess_precision = false;  // see PlanContext
  bool in_place = true;           // see PlanContext
  bool fuse_linear = false;  // of a training step, on a device that has the kernels: linear layers and their gradients, whatever `fuse`
  // Null: params and states are constants of the program, and what it writes to them ends with the run. Otherwise they are those of
  // the scope, by name, whatever weights the program brings along: runs read and overwrite them there, plans bake nothing of them in.
  // The scope must outlive the runner.
  Scope* scope = nullptr;
  // Null: the CPU. Otherwise the program runs on this device, a scope's variables in copies there (runtime/exec/scope_mirror.h).
  const DeviceTarget* target = nullptr;
};

// Thread-safe as far as runs do not share a scope.
class ProgramRunner {
 public:
  // `program` is not verified here. Errors: exit code 4, what cannot be executed; 2, a param or state that the scope lacks or holds
  // with other dims or a wider type than the program declares.
  static absl::StatusOr<std::unique_ptr<ProgramRunner>> Create(Program program, const RunnerOptions& options);

  // `feeds` follow program().feeds in their declared types, see OrderFeeds; the fetches follow program().fetches. `observed` may be
  // null.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor* const> feeds, ObservedRun* observed);

  // Run without fetches. On a device the host does not wait, unless the program needs it to (control flow, an op that only the host has).
  absl::Status Enqueue(absl::Span<const HostTensor* const> feeds);

  // The plan of a run with feeds of these dims. Unsupported where a run needs several: control flow, dims that depend on data.
  absl::StatusOr<std::string> PlanText(absl::Span<const HostTensor* const> feeds);

  // As it runs: after the passes.
  const Program& program() const { return program_; }
  int num_plans() const { return plans_.size() + runner_.num_plans(); }
  // Of the newest plan, or of the largest where one run needs several.
  int64_t arena_bytes() const;

 private:
  // A program's states, in memory and on a device.
  struct States {
    std::unique_ptr<const StateTable> table;  // null without a scope
    std::optional<MirroredStates> mirrored;   // on a device
  };
  ProgramRunner(Program program, States states, Constants constants, const RunnerOptions& options);
  static absl::StatusOr<States> BindStates(const Program& program, Scope& scope, const DeviceTarget* target);
  PlanContext Context(const RunnerOptions& options);
  absl::StatusOr<std::vector<HostTensor>> RunBlocks(absl::Span<const HostTensor* const> feeds, ObservedRun* observed);
  // Null where the program needs the block runner.
  absl::StatusOr<std::shared_ptr<const Executor>> WholePlan(absl::Span<const HostTensor* const> feeds);
  absl::StatusOr<std::shared_ptr<const Executor>> ExecutorFor(absl::Span<const HostTensor* const> feeds);

  const Program program_;
  const States states_;
  const int threads_;
  const Constants constants_;
  const Liveness liveness_;
  WeightCache weights_;
  std::optional<DeviceConstants> device_constants_;
  std::optional<PlanTarget> target_;  // none: the CPU
  const PlanContext context_;
  PlanCache plans_;     // of the whole program
  BlockRunner runner_;  // for what one plan cannot hold
  std::atomic<bool> needs_runner_;
};

// A param or state that a scope holds: tensors; arrays are made anew by each run.
bool LivesInScope(const Var& var);

// The feeds of `program` in its order. UsageError for one that is missing, unknown, or of another type;
// UnsupportedError where the program wants anything but a tensor.
absl::StatusOr<std::vector<const HostTensor*>> OrderFeeds(const Program& program, const TensorMap& feeds);
// The same errors for feeds that are in order.
absl::Status CheckFeeds(const Program& program, absl::Span<const HostTensor* const> feeds);

}  // namespace ampc
