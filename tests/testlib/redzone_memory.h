// RedzoneMemory: device memory for a test of a kernel, filled with a pattern, with a red zone behind it that no kernel may touch.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/device/device.h"

namespace ampc::testing {

// From the driver, not from an allocator's larger blocks, so that tools see accesses beyond it. Used on one stream, which outlives it.
class RedzoneMemory {
 public:
  explicit RedzoneMemory(Stream& stream) : stream_(&stream) {}
  RedzoneMemory(RedzoneMemory&& other) noexcept;
  ~RedzoneMemory();

  // Once. `element`: bytes of one, of which Displace keeps the alignment.
  absl::Status Allocate(int64_t bytes, int64_t element = 16);
  // All three wait.
  absl::Status Write(const void* from);
  absl::Status Read(void* to) const;
  absl::Status CheckRedzone(absl::string_view what) const;  // Internal: "the kernel wrote beyond <what>"
  void* data() const { return data_; }

  // From now on tensors begin one element behind an address that a device aligns.
  static void Displace();
  static bool Displaces();

 private:
  Stream* stream_;
  int64_t bytes_ = 0;
  void* memory_ = nullptr;
  char* data_ = nullptr;  // within it
};

}  // namespace ampc::testing
