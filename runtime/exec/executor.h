// Executor: runs a plan. The loop neither looks up nor allocates.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/exec/observed_run.h"
#include "runtime/plan/execution_plan.h"

namespace ampc {

using SharedTensor = std::shared_ptr<const HostTensor>;

// One plan and the arenas of the runs that use it. Thread-safe: a run takes a free arena, or makes one, and gives it back.
class Executor : public std::enable_shared_from_this<Executor> {
 public:
  virtual ~Executor() = default;

  // For a whole program: `feeds` follow range.feeds in their declared types and must have the dims that the plan was built for;
  // the fetches are in declared types. `observed` may be null.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor* const> feeds, ObservedRun* observed) const;
  // The same into tensors that there are, of the fetches' types and dims (UsageError else); after an error they hold anything.
  absl::Status RunInto(absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches, ObservedRun* observed) const;
  // For an inner range: the same in storage types. A fetch that is a feed or a constant is handed on, not copied.
  virtual absl::StatusOr<std::vector<SharedTensor>> RunInner(absl::Span<const SharedTensor> feeds, ObservedRun* observed) const = 0;
  // Run without fetches. On a device the host does not wait: errors of the work come with the next call that does.
  virtual absl::Status Enqueue(absl::Span<const HostTensor* const> feeds) const = 0;

  const ExecutionPlan& plan() const { return *plan_; }

 protected:
  // `fetches` fit.
  virtual absl::Status Fill(absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches, ObservedRun* observed) const = 0;
  explicit Executor(std::unique_ptr<const ExecutionPlan> plan) : plan_(std::move(plan)) {}

 private:
  const std::unique_ptr<const ExecutionPlan> plan_;
};

// The executor of the plan's target.
std::shared_ptr<const Executor> MakeExecutor(std::unique_ptr<const ExecutionPlan> plan);

}  // namespace ampc
