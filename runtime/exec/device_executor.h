// DeviceExecutor: runs a plan for a device. From its third run on, an arena replays what it captured of the plan's steps: everything
// between steps for which the host waits is one graph. Copies of feeds and fetches stay outside.
#pragma once

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"
#include "runtime/exec/device_arena.h"
#include "runtime/exec/executor.h"

namespace ampc {

class DeviceExecutor : public Executor {
 public:
  explicit DeviceExecutor(std::unique_ptr<const ExecutionPlan> plan);
  absl::StatusOr<std::vector<SharedTensor>> RunInner(absl::Span<const SharedTensor> feeds, ObservedRun* observed) const override;
  absl::Status Enqueue(absl::Span<const HostTensor* const> feeds) const override;

 protected:
  absl::Status Fill(absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches, ObservedRun* observed) const override;

 private:
  // Steps [first, last), of which none waits for the device, or one that does.
  struct Segment {
    size_t first = 0;
    size_t last = 0;
    bool can_capture = false;
  };

  absl::StatusOr<std::unique_ptr<DeviceArena>> TakeArena() const;
  void GiveBack(std::unique_ptr<DeviceArena> arena) const;
  absl::Status Execute(DeviceArena& arena) const;
  absl::Status RunSteps(const Segment& segment, DeviceArena& arena) const;
  absl::Status Capture(size_t segment, DeviceArena& arena) const;
  absl::Status RunStep(size_t step, DeviceArena& arena) const;
  absl::Status ExecuteTimed(DeviceArena& arena, ObservedRun& observed) const;
  absl::Status ExecuteWatched(DeviceArena& arena, ObservedRun& observed) const;
  absl::Status Report(size_t step, double start, double seconds, const DeviceArena* values, ObservedRun& observed) const;
  // Feeds, steps, fetches; `*arena` is null afterwards where something failed. Waits if `wait`.
  absl::Status RunOn(std::unique_ptr<DeviceArena>* arena, absl::Span<const HostTensor* const> feeds, ObservedRun* observed,
                     bool wait) const;

  std::vector<Segment> segments_;
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<DeviceArena>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ampc
