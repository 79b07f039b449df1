// Executor: runs a plan. The loop neither looks up nor allocates.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/observer.h"
#include "runtime/plan/execution_plan.h"

namespace ampc {

// One plan and the arenas of the runs that use it. Thread-safe: a run takes a free arena, or makes one, and gives it back.
class Executor {
 public:
  explicit Executor(std::unique_ptr<const ExecutionPlan> plan);
  ~Executor();

  // `feeds` follow program.feeds and must have the dims that the plan was built for. `observer` may be null.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor* const> feeds, StepObserver* observer) const;
  const ExecutionPlan& plan() const { return *plan_; }

 private:
  struct Arena;
  absl::StatusOr<std::unique_ptr<Arena>> TakeArena() const;
  void GiveBack(std::unique_ptr<Arena> arena) const;
  absl::Status Execute(Arena& arena) const;
  absl::Status ExecuteObserved(Arena& arena, StepObserver& observer) const;
  absl::StatusOr<std::vector<HostTensor>> CopyFetches(const Arena& arena, absl::Span<const HostTensor* const> feeds) const;

  std::unique_ptr<const ExecutionPlan> plan_;
  std::vector<std::pair<int, int>> feed_operands_;  // {index into plan().operands, feed}
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Arena>> free_;
};

}  // namespace ampc
