// HostExecutor: runs a plan for the CPU.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"
#include "runtime/exec/executor.h"

namespace ampc {

class HostExecutor : public Executor {
 public:
  explicit HostExecutor(std::unique_ptr<const ExecutionPlan> plan);
  ~HostExecutor() override;
  absl::StatusOr<std::vector<SharedTensor>> RunInner(absl::Span<const SharedTensor> feeds, ObservedRun* observed) const override;
  absl::Status Enqueue(absl::Span<const HostTensor* const> feeds) const override { return Run(feeds, nullptr).status(); }

 protected:
  absl::Status Fill(absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches, ObservedRun* observed) const override;

 private:
  struct Arena;
  absl::StatusOr<std::unique_ptr<Arena>> TakeArena() const;
  void GiveBack(std::unique_ptr<Arena> arena) const;
  absl::Status Execute(Arena& arena) const;
  absl::Status ExecuteObserved(Arena& arena, ObservedRun& observed) const;
  void CopyFetch(size_t i, const Arena& arena, absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches) const;
  absl::StatusOr<SharedTensor> ShareFetch(size_t i, const Arena& arena, absl::Span<const SharedTensor> feeds,
                                          absl::Span<const SharedTensor> shared) const;

  std::vector<std::pair<int, int>> feed_operands_, fetch_operands_;  // {index into plan().operands, feed or fetch}
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<Arena>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ampc
