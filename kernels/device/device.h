// Device: an accelerator behind a thin interface. The layers above it (allocator, plans, executor, kernels' host parts) know no vendor's
// header and run in tests on kernels/device/emulated, which does the same work on the CPU.
//
// Errors: every failed call of a vendor's library is a Status with the call's name and the library's text. Out of memory is
// ResourceExhausted; a missing driver, library or device is exit code 4.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ampc {

class CachingAllocator;  // kernels/device/allocator.h
class ConvLibrary;       // kernels/device/conv_library.h
class Device;
class MatmulLibrary;  // kernels/device/matmul_library.h
class Stream;

struct DeviceInfo {
  std::string name;  // "NVIDIA H200"
  int major = 0;     // compute capability
  int minor = 0;
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
  bool has_tensor_cores = false;
  int driver_version = 0;  // 13000 is 13.0; 0 where there is none
};

// A point in a stream's work. Not thread-safe.
class Event {
 public:
  virtual ~Event() = default;
  virtual absl::StatusOr<bool> Done() = 0;  // never waits; true before the first Record
  virtual absl::Status Synchronize() = 0;   // waits; counted by Device::synchronizations
  // Between two recorded events that are done, both made with timing.
  virtual absl::StatusOr<double> MillisecondsSince(const Event& earlier) = 0;
};

// Work captured once, to be enqueued again with one call.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual absl::Status Launch(Stream& stream) = 0;
};

// Work in order. Calls enqueue and return; addresses must stay valid until the work is done. Used by one thread at a time.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual Device& device() = 0;
  virtual void* native() = 0;  // what launchers take (kernels/cuda/launch/launch.h)

  // `from` or `to` on the host should be pinned: copies of other memory may wait, and are refused during a capture.
  virtual absl::Status CopyToDevice(void* to, const void* from, int64_t bytes) = 0;
  virtual absl::Status CopyToHost(void* to, const void* from, int64_t bytes) = 0;
  virtual absl::Status CopyOnDevice(void* to, const void* from, int64_t bytes) = 0;
  virtual absl::Status FillBytes(void* to, int value, int64_t bytes) = 0;

  virtual absl::Status Record(Event& event) = 0;
  virtual absl::Status Wait(Event& event) = 0;  // later work starts behind the event; the host does not wait
  virtual absl::Status Synchronize() = 0;       // waits; counted; reports what went wrong in earlier work

  // Between the two nothing runs: what is enqueued becomes the graph. A synchronising call in between is an error.
  virtual absl::Status BeginCapture() = 0;
  virtual absl::StatusOr<std::unique_ptr<Graph>> EndCapture() = 0;

  // A named range for profilers that watch the process (NVTX); nothing where there is none.
  virtual void PushRange(const char* name) = 0;
  virtual void PopRange() = 0;
};

// Thread-safe. Outlives everything that it made.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual std::string name() const = 0;  // "cuda:0"
  // Makes it the calling thread's: what kernels ask the vendor's libraries for when they are made goes by that.
  virtual absl::Status MakeCurrent() { return absl::OkStatus(); }

  virtual absl::StatusOr<std::unique_ptr<Stream>> NewStream() = 0;
  virtual absl::StatusOr<std::unique_ptr<Event>> NewEvent(bool timing) = 0;

  // From the vendor, 256-byte aligned; may wait for the device. Use allocator() for all but caches of its kind. Null for 0 bytes.
  virtual absl::StatusOr<void*> AllocateRaw(int64_t bytes) = 0;
  virtual void FreeRaw(void* memory) = 0;
  virtual absl::StatusOr<void*> AllocatePinned(int64_t bytes) = 0;  // on the host
  virtual void FreePinned(void* memory) = 0;
  virtual CachingAllocator& allocator() = 0;

  // Opened at the first use; an error each time where the library cannot be.
  virtual absl::StatusOr<MatmulLibrary*> matmul() = 0;
  virtual absl::StatusOr<ConvLibrary*> conv() = 0;

  // The status of a launcher's return value; `what` names the kernel.
  virtual absl::Status LaunchStatus(int code, absl::string_view what) const = 0;
  // How often the host has waited for the device so far: Synchronize of streams and events, copies that waited.
  virtual int64_t synchronizations() const = 0;
};

}  // namespace ampc
