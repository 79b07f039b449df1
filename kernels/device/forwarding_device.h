// A device that passes every call on to another: a base of devices that differ in few of them.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernels/device/device.h"

namespace ampc {

class ForwardingDevice : public Device {
 public:
  const DeviceInfo& info() const override { return device_->info(); }
  std::string name() const override { return device_->name(); }
  absl::Status MakeCurrent() override { return device_->MakeCurrent(); }
  absl::StatusOr<std::unique_ptr<Stream>> NewStream() override { return device_->NewStream(); }
  absl::StatusOr<std::unique_ptr<Event>> NewEvent(bool timing) override { return device_->NewEvent(timing); }
  absl::StatusOr<void*> AllocateRaw(int64_t bytes) override { return device_->AllocateRaw(bytes); }
  void FreeRaw(void* memory) override { device_->FreeRaw(memory); }
  absl::StatusOr<void*> AllocatePinned(int64_t bytes) override { return device_->AllocatePinned(bytes); }
  void FreePinned(void* memory) override { device_->FreePinned(memory); }
  CachingAllocator& allocator() override { return device_->allocator(); }
  absl::StatusOr<MatmulLibrary*> matmul() override { return device_->matmul(); }
  absl::StatusOr<ConvLibrary*> conv() override { return device_->conv(); }
  absl::Status LaunchStatus(int code, absl::string_view what) const override { return device_->LaunchStatus(code, what); }
  int64_t synchronizations() const override { return device_->synchronizations(); }

 protected:
  explicit ForwardingDevice(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  Device& target() { return *device_; }

 private:
  const std::shared_ptr<Device> device_;
};

}  // namespace ampc
