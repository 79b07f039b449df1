#include "kernels/device/allocator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/device/device.h"

namespace ampc {

struct CachingAllocator::State {
  explicit State(Device& d) : device(d) {}
  Device& device;
};

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(allocator_, other.allocator_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(block_, other.block_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ != nullptr) allocator_->state_->device.FreeRaw(data_);
}

CachingAllocator::CachingAllocator(Device& device, int64_t) : state_(std::make_unique<State>(device)) {}
CachingAllocator::~CachingAllocator() = default;

absl::StatusOr<DeviceBuffer> CachingAllocator::Allocate(int64_t bytes, Stream&, absl::string_view what) {
  absl::StatusOr<void*> memory = state_->device.AllocateRaw(bytes);
  if (!memory.ok()) return absl::ResourceExhaustedError(absl::StrCat(what, ": ", memory.status().message()));
  DeviceBuffer buffer;
  buffer.allocator_ = this;
  buffer.data_ = *memory;
  buffer.bytes_ = bytes;
  return buffer;
}

void CachingAllocator::SetLimit(int64_t) {}
void CachingAllocator::ReleaseCached() {}
AllocatorStats CachingAllocator::stats() const { return {}; }
void CachingAllocator::Free(int64_t) {}

}  // namespace ampc
