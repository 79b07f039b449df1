#include "kernels/device/pinned_ring.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {

PinnedRing::~PinnedRing() {
  for (Memory& slot : slots_) {
    if (slot.used != nullptr && !slot.used->Done().value_or(false)) slot.used->Synchronize().IgnoreError();
    device_.FreePinned(slot.data);
  }
}

absl::StatusOr<PinnedRing::Slot> PinnedRing::Acquire(int64_t bytes) {
  Memory& slot = slots_[next_];
  if (slot.acquired)
    return InternalError(absl::StrCat("pinned ring: slot ", next_, " of ", slots_.size(), " is acquired again and has not been released"));
  if (slot.used == nullptr) {
    AMPC_ASSIGN_OR_RETURN(slot.used, device_.NewEvent(/*timing=*/false));
  }
  AMPC_ASSIGN_OR_RETURN(const bool done, slot.used->Done());
  if (!done) {
    ++waits_;
    AMPC_RETURN_IF_ERROR(slot.used->Synchronize());
  }
  if (slot.bytes < bytes) {
    device_.FreePinned(slot.data);
    slot.data = nullptr;
    slot.bytes = 0;
    AMPC_ASSIGN_OR_RETURN(slot.data, device_.AllocatePinned(bytes));
    slot.bytes = bytes;
  }
  slot.acquired = true;
  const Slot acquired = {slot.data, bytes, static_cast<int>(next_)};
  next_ = (next_ + 1) % slots_.size();
  return acquired;
}

absl::Status PinnedRing::Release(const Slot& slot, Stream& stream) {
  Memory& memory = slots_[static_cast<size_t>(slot.index)];
  memory.acquired = false;
  return stream.Record(*memory.used);
}

}  // namespace ampc
