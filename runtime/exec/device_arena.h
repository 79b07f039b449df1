// DeviceArena: what one run of a plan uses on a device, kept for the next one.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/allocator.h"
#include "kernels/device/device.h"
#include "kernels/device/pinned_ring.h"
#include "runtime/plan/execution_plan.h"

namespace ampc {

// Pinned memory of the host.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(PinnedMemory&& other) noexcept : device_(other.device_), data_(std::exchange(other.data_, nullptr)) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;
  ~PinnedMemory();
  static absl::StatusOr<PinnedMemory> Allocate(Device& device, int64_t bytes);
  char* at(int64_t offset) const { return static_cast<char*>(data_) + offset; }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
};

// Used by one run at a time; the next may begin before the work of the last one is done.
class DeviceArena {
 public:
  // ResourceExhausted says how large the arena is and which values are the largest.
  static absl::StatusOr<std::unique_ptr<DeviceArena>> Create(const ExecutionPlan& plan);
  ~DeviceArena();  // waits for its work

  Stream& stream() const { return *stream_; }
  void* const* operands(const Step& step) const { return operands_.data() + step.first; }
  void* workspace(size_t step) const { return workspaces_[step]; }
  void* at(int64_t offset) const { return static_cast<char*>(memory_.data()) + offset; }
  // The memory of a value of the plan.
  void* Find(const Address& address) const;

  // Enqueues the copy of `feeds`, which are in declared or storage types. They may change afterwards: the copy is made from pinned
  // memory, of which there are a few pieces where runs are not waited for; the host waits when the device is that many runs behind.
  absl::Status CopyFeeds(const ExecutionPlan& plan, absl::Span<const HostTensor* const> feeds);
  // Enqueues the copies of the fetches into pinned memory, where FetchData finds them after the stream's work.
  absl::Status CopyFetches(const ExecutionPlan& plan);
  const void* FetchData(size_t fetch) const { return fetched_.at(fetch_offsets_[fetch]); }

  int runs = 0;  // that went through
  bool may_capture = true;
  std::vector<std::unique_ptr<Graph>> graphs;  // by segment of the plan, see DeviceExecutor
  std::vector<std::unique_ptr<Event>> marks;   // with timing, for observed runs

 private:
  DeviceArena() = default;

  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> own_stream_;
  Stream* stream_ = nullptr;
  DeviceBuffer memory_;
  std::vector<void*> operands_;        // as plan.operands, resolved
  std::vector<void*> workspaces_;      // by step
  std::vector<int64_t> feed_offsets_;  // by feed copy, in a slot
  int64_t slot_bytes_ = 0;
  std::optional<PinnedRing> staging_;
  PinnedMemory fetched_;
  std::vector<int64_t> fetch_offsets_;  // by fetch
};

}  // namespace ampc
