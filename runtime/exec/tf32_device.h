// Tf32Device: a device whose libraries may round the operands of f32 products and convolutions to TF32: 10 bits of mantissa, sums in
// f32. Kernels that plan through it need not know; everything else is the device that it stands for.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernels/device/conv_library.h"
#include "kernels/device/device.h"
#include "kernels/device/matmul_library.h"

namespace ampc {

class Tf32Device : public Device {
 public:
  explicit Tf32Device(std::shared_ptr<Device> device) : device_(std::move(device)), matmul_(*this), conv_(*this) {}

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
  absl::StatusOr<MatmulLibrary*> matmul() override { return &matmul_; }
  absl::StatusOr<ConvLibrary*> conv() override { return &conv_; }
  absl::Status LaunchStatus(int code, absl::string_view what) const override { return device_->LaunchStatus(code, what); }
  int64_t synchronizations() const override { return device_->synchronizations(); }

 private:
  // The libraries of the device, opened when they are asked for a plan; each desc with TF32 allowed.
  class Matmul : public MatmulLibrary {
   public:
    explicit Matmul(Tf32Device& owner) : owner_(owner) {}
    absl::StatusOr<std::shared_ptr<const MatmulPlan>> Plan(const MatmulDesc& desc, int64_t workspace_limit) override;

   private:
    Tf32Device& owner_;
  };
  class Conv : public ConvLibrary {
   public:
    explicit Conv(Tf32Device& owner) : owner_(owner) {}
    absl::StatusOr<std::shared_ptr<const ConvPlan>> Plan(const ConvDesc& desc, int64_t workspace_limit) override;

   private:
    Tf32Device& owner_;
  };

  const std::shared_ptr<Device> device_;
  Matmul matmul_;
  Conv conv_;
};

}  // namespace ampc
