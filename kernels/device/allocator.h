// CachingAllocator: a device's memory, kept and handed out again, because asking the driver waits for the device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ampc {

class CachingAllocator;
class Device;
class Stream;

// Owns a piece of device memory. Freed memory goes to the stream's next allocation at once: its work comes later anyhow. If other
// streams use it too, the stream waits for them before the buffer goes. A captured graph keeps the buffers that it uses.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }  // as asked for

 private:
  friend class CachingAllocator;
  CachingAllocator* allocator_ = nullptr;
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

struct AllocatorStats {
  int64_t in_use_bytes = 0;    // with what sizes are rounded up by, to 512 bytes
  int64_t reserved_bytes = 0;  // from the driver
  int64_t peak_in_use_bytes = 0;
  int64_t driver_allocations = 0;
};

// The functions that a device's implementation lends its allocator. Both may be called from any thread and never wait.
struct AllocatorHooks {
  std::function<bool(Stream&)> idle;                         // nothing of the stream is left to run; unset: never known
  std::function<void(Stream&, void*, int64_t bytes)> freed;  // a buffer of the stream went; what the stream gets from now on comes later
};

// Thread-safe. Blocks are split and merged; the best fit is taken, one of the same stream only, unless nothing of its stream is
// left to run. Out of memory gives back what is cached and tries once more; then ResourceExhausted, which names `what`, its bytes,
// what is in use and the limit or the device's memory.
class CachingAllocator {
 public:
  // `limit_bytes` of memory in use and cached; 0: what the device has.
  explicit CachingAllocator(Device& device, int64_t limit_bytes = 0, AllocatorHooks hooks = {});
  ~CachingAllocator();
  absl::StatusOr<DeviceBuffer> Allocate(int64_t bytes, Stream& stream, absl::string_view what);
  void SetLimit(int64_t bytes);
  void ReleaseCached();
  // For a stream's destructor, when its work is done: what it had is for every stream.
  void Forget(Stream& stream);
  AllocatorStats stats() const;

 private:
  friend class DeviceBuffer;
  struct State;
  void Free(void* data);
  std::unique_ptr<State> state_;
};

}  // namespace ampc
