// A Stream that knows nothing but what launchers take.
#pragma once

#include <cstdlib>
#include <memory>

#include "absl/status/statusor.h"
#include "kernels/device/device.h"

namespace ampc::testing {

class NativeStream : public Stream {
 public:
  explicit NativeStream(void* native) : native_(native) {}
  Device& device() override { std::abort(); }
  void* native() override { return native_; }
  absl::Status CopyToDevice(void*, const void*, int64_t) override { return None(); }
  absl::Status CopyToHost(void*, const void*, int64_t) override { return None(); }
  absl::Status CopyOnDevice(void*, const void*, int64_t) override { return None(); }
  absl::Status FillBytes(void*, int, int64_t) override { return None(); }
  absl::Status Record(Event&) override { return None(); }
  absl::Status Wait(Event&) override { return None(); }
  absl::Status Synchronize() override { return None(); }
  absl::Status BeginCapture() override { return None(); }
  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override { return None(); }
  void PushRange(const char*) override {}
  void PopRange() override {}

 private:
  static absl::Status None() { return absl::UnimplementedError("a stream for launches only"); }
  void* const native_;
};

}  // namespace ampc::testing
