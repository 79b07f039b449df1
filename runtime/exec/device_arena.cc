#include "runtime/exec/device_arena.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/aligned.h"
#include "graph/base/status_macros.h"
#include "runtime/exec/values.h"

namespace ampc {
namespace {

// Runs of one scope that may be enqueued before the host waits. Others are waited for, one by one.
constexpr int kRunsAhead = 8;

// Adds a piece of `bytes` to a block; its offset in it.
int64_t Reserve(int64_t bytes, int64_t* total) { return std::exchange(*total, *total + Aligned(bytes)); }

}  // namespace

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  return *this;
}

PinnedMemory::~PinnedMemory() {
  if (data_ != nullptr) device_->FreePinned(data_);
}

absl::StatusOr<PinnedMemory> PinnedMemory::Allocate(Device& device, int64_t bytes) {
  PinnedMemory memory;
  memory.device_ = &device;
  AMPC_ASSIGN_OR_RETURN(memory.data_, device.AllocatePinned(bytes));
  return memory;
}

absl::StatusOr<std::unique_ptr<DeviceArena>> DeviceArena::Create(const ExecutionPlan& plan) {
  std::unique_ptr<DeviceArena> arena(new DeviceArena);
  arena->device_ = plan.target->device.device;
  Device& device = *arena->device_;
  arena->stream_ = plan.target->stream;
  if (arena->stream_ == nullptr) {
    AMPC_ASSIGN_OR_RETURN(arena->own_stream_, device.NewStream());
    arena->stream_ = arena->own_stream_.get();
  }
  const std::string what = absl::StrCat("arena of ", plan.arena_bytes, " bytes, the plan's peak");
  absl::StatusOr<DeviceBuffer> memory = device.allocator().Allocate(plan.arena_bytes, *arena->stream_, what);
  if (absl::IsResourceExhausted(memory.status()) && !plan.largest.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat(memory.status().message(), "; the largest tensors are ", plan.largest));
  }
  AMPC_RETURN_IF_ERROR(memory.status());
  arena->memory_ = *std::move(memory);
  for (const Address& address : plan.operands) arena->operands_.push_back(arena->Find(address));
  for (const Step& step : plan.steps) arena->workspaces_.push_back(arena->Find(step.workspace));
  const Specialized& s = plan.specialized;
  for (const FeedCopy& copy : plan.feed_copies) {
    arena->feed_offsets_.push_back(Reserve(plan.BytesOf(s.descs[plan.range().feeds[copy.feed]->id()]), &arena->slot_bytes_));
  }
  arena->staging_.emplace(device, plan.target->stream != nullptr ? kRunsAhead : 1);
  int64_t fetch_bytes = 0;
  for (ValueId v : s.fetches) arena->fetch_offsets_.push_back(Reserve(plan.BytesOf(s.descs[v]), &fetch_bytes));
  AMPC_ASSIGN_OR_RETURN(arena->fetched_, PinnedMemory::Allocate(device, fetch_bytes));
  return arena;
}

DeviceArena::~DeviceArena() {
  if (stream_ != nullptr) stream_->Synchronize().IgnoreError();  // the memory must not go before; errors come with the calls that wait
}

void* DeviceArena::Find(const Address& address) const {
  switch (address.kind) {
    case Address::kArena: return at(address.offset);
    case Address::kConstant: return const_cast<void*>(address.constant);
    case Address::kState: return address.state;
    case Address::kFeed:
    case Address::kFetch:
    case Address::kNone: break;
  }
  return nullptr;
}

absl::Status DeviceArena::CopyFeeds(const ExecutionPlan& plan, absl::Span<const HostTensor* const> feeds) {
  if (plan.feed_copies.empty()) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(const PinnedRing::Slot slot, staging_->Acquire(slot_bytes_));
  for (size_t i = 0; i < plan.feed_copies.size(); ++i) {
    const FeedCopy& copy = plan.feed_copies[i];
    const TensorDesc& desc = plan.specialized.descs[plan.range().feeds[copy.feed]->id()];
    const int64_t bytes = plan.BytesOf(desc);
    if (bytes == 0) continue;
    char* staged = static_cast<char*>(slot.data) + feed_offsets_[i];
    ToDeclared(*feeds[copy.feed], desc.dtype, staged);
    AMPC_RETURN_IF_ERROR(stream_->CopyToDevice(at(copy.to.offset), staged, bytes));
  }
  return staging_->Release(slot, *stream_);
}

absl::Status DeviceArena::CopyFetches(const ExecutionPlan& plan) {
  for (size_t i = 0; i < plan.fetches.size(); ++i) {
    const Address& address = plan.fetches[i];
    const int64_t bytes = plan.BytesOf(plan.specialized.descs[plan.specialized.fetches[i]]);
    if (address.kind == Address::kConstant || bytes == 0) continue;  // the host has it
    AMPC_RETURN_IF_ERROR(stream_->CopyToHost(fetched_.at(fetch_offsets_[i]), Find(address), bytes));
  }
  return absl::OkStatus();
}

}  // namespace ampc
