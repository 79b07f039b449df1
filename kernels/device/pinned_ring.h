// PinnedRing: pinned memory through which values go to a device without the host waiting.
//
//   AMPC_ASSIGN_OR_RETURN(PinnedRing::Slot slot, ring.Acquire(bytes));
//   memcpy(slot.data, values, bytes);
//   AMPC_RETURN_IF_ERROR(stream.CopyToDevice(to, slot.data, bytes));
//   AMPC_RETURN_IF_ERROR(ring.Release(slot, stream));
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/device/device.h"

namespace ampc {

// Used by one thread at a time. The device outlives it. Destroying it waits for the work that uses its slots.
class PinnedRing {
 public:
  struct Slot {
    void* data = nullptr;
    int64_t bytes = 0;
    int index = -1;
  };

  // `slots` (>= 1) are handed out in turn: as many may be on their way at once.
  PinnedRing(Device& device, int slots) : device_(device), slots_(static_cast<size_t>(slots)) {}
  ~PinnedRing();
  PinnedRing(const PinnedRing&) = delete;

  // The next slot, with room for `bytes`; it grows where it has less. If work still uses it, the host waits for that
  // (Device::synchronizations and waits() count it). Internal when it has been acquired and not released.
  absl::StatusOr<Slot> Acquire(int64_t bytes);
  // The work enqueued on `stream` until now uses the slot; no later work does. Not during a capture.
  absl::Status Release(const Slot& slot, Stream& stream);
  int64_t waits() const { return waits_; }

 private:
  struct Memory {
    void* data = nullptr;
    int64_t bytes = 0;
    std::unique_ptr<Event> used;  // behind the last work that uses it
    bool acquired = false;
  };

  Device& device_;
  std::vector<Memory> slots_;
  size_t next_ = 0;
  int64_t waits_ = 0;
};

}  // namespace ampc
