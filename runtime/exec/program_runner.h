// ProgramRunner: runs a program by one plan per dims of the feeds, or block by block where no one plan holds it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "graph/program.h"
#include "runtime/exec/block_runner.h"
#include "runtime/exec/prepared_program.h"
#include "runtime/exec/range_plans.h"

namespace ampc {

// Thread-safe as far as runs do not share a scope.
class ProgramRunner {
 public:
  // `program` is not verified here. Errors: exit code 4, what cannot be executed; 2, a param or state that the scope lacks or holds
  // with other dims or a wider type than the program declares.
  static absl::StatusOr<std::unique_ptr<ProgramRunner>> Create(Program program, const RunnerOptions& options);

  // `feeds` follow program().feeds in their declared types, see feed_checks.h; the fetches follow program().fetches. `observed` may be
  // null.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor* const> feeds, ObservedRun* observed);
  // The same into tensors of the caller, one for each fetch, of its type and dims (UsageError else). One plan computes in their memory.
  absl::Status RunInto(absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches);

  // Run without fetches. On a device the host does not wait, unless the program needs it to (control flow, an op that only the host has).
  absl::Status Enqueue(absl::Span<const HostTensor* const> feeds);

  // The plan of a run with feeds of these dims. Unsupported where a run needs several: control flow, dims that depend on data.
  absl::StatusOr<std::string> PlanText(absl::Span<const HostTensor* const> feeds);

  // As it runs: after the passes.
  const Program& program() const { return prepared_->program(); }
  // kNeedsShapes: ops of ONNX's dialect are left; runs lower them one by one (deferred_op.h). kSplitHere: runs go block by block.
  Outcome outcome() const;
  int num_plans() const { return whole_.size() + blocks_.num_plans(); }
  // Of the plan used last, or of the largest where one run needs several.
  int64_t arena_bytes() const;

 private:
  explicit ProgramRunner(std::unique_ptr<const PreparedProgram> prepared);
  absl::StatusOr<std::vector<HostTensor>> RunBlocks(absl::Span<const HostTensor* const> feeds, ObservedRun* observed);
  // Null where the program runs block by block.
  absl::StatusOr<std::shared_ptr<const Executor>> WholePlan(absl::Span<const HostTensor* const> feeds);

  const std::unique_ptr<const PreparedProgram> prepared_;
  RangePlans whole_;
  BlockRunner blocks_;
  std::atomic<bool> split_;  // no plan holds the whole program
};

}  // namespace ampc
