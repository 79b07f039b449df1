#include "runtime/exec/range_plans.h"

#include "graph/base/status_macros.h"
#include "runtime/plan/build_plan.h"

namespace ampc {

absl::StatusOr<std::shared_ptr<const Executor>> RangePlans::Get(absl::Span<const KnownFeed> feeds) {
  PlanKey key = KeyOf(feeds);
  MutexLock lock(mutex_);
  std::shared_ptr<const Executor> executor = plans_.Find(key);
  if (executor != nullptr) return executor;
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<const ExecutionPlan> plan, BuildPlan(context_, range_, feeds));
  executor = MakeExecutor(std::move(plan));
  plans_.Insert(std::move(key), executor);
  return executor;
}

int RangePlans::size() const {
  MutexLock lock(mutex_);
  return static_cast<int>(plans_.newest_first().size());
}

int64_t RangePlans::arena_bytes() const {
  MutexLock lock(mutex_);
  return plans_.newest_first().empty() ? 0 : plans_.newest_first().front().second->plan().arena_bytes;
}

}  // namespace ampc
