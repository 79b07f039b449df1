// Streams, events and graphs of the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "kernels/device/device.h"

namespace ampc {

// The state that a device shares with its streams and events.
struct CudaShared {
  int index = 0;
  std::atomic<int64_t> synchronizations = 0;
  // Held where a stream may become part of a capture, and while another thread asks whether a stream is idle: the question would spoil
  // the capture.
  std::mutex captures;
};

absl::StatusOr<std::unique_ptr<Stream>> NewCudaStream(Device& device, CudaShared& shared);
absl::StatusOr<std::unique_ptr<Event>> NewCudaEvent(CudaShared& shared, bool timing);

// Whether the work of a stream of NewCudaStream is done; false during a capture. From any thread.
bool CudaStreamIdle(Stream& stream);

}  // namespace ampc
