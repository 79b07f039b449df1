// Executor: runs a plan. The loop neither looks up nor allocates.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/observed_run.h"
#include "runtime/plan/execution_plan.h"

namespace ampc {

using SharedTensor = std::shared_ptr<const HostTensor>;

// One plan and the arenas of the runs that use it. Thread-safe: a run takes a free arena, or makes one, and gives it back.
class Executor : public std::enable_shared_from_this<Executor> {
 public:
  explicit Executor(std::unique_ptr<const ExecutionPlan> plan);
  ~Executor();

  // For a whole program: `feeds` follow region.feeds in their declared types and must have the dims that the plan was built for;
  // the fetches are in declared types. `observed` may be null.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor* const> feeds, ObservedRun* observed) const;
  // For an inner region: the same in storage types. A fetch that is a feed or a constant is handed on, not copied.
  absl::StatusOr<std::vector<SharedTensor>> RunInner(absl::Span<const SharedTensor> feeds, ObservedRun* observed) const;
  const ExecutionPlan& plan() const { return *plan_; }

 private:
  struct Arena;
  absl::StatusOr<std::unique_ptr<Arena>> TakeArena() const;
  void GiveBack(std::unique_ptr<Arena> arena) const;
  absl::Status Execute(Arena& arena) const;
  absl::Status ExecuteObserved(Arena& arena, ObservedRun& observed) const;
  absl::StatusOr<std::vector<HostTensor>> CopyFetches(const Arena& arena, absl::Span<const HostTensor* const> feeds) const;
  absl::StatusOr<SharedTensor> ShareFetch(size_t i, const Arena& arena, absl::Span<const SharedTensor> feeds) const;

  std::unique_ptr<const ExecutionPlan> plan_;
  std::vector<std::pair<int, int>> feed_operands_;  // {index into plan().operands, feed}
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Arena>> free_;
};

}  // namespace ampc
