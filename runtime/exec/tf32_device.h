// Tf32Device: a device whose libraries may round the operands of f32 products and convolutions to TF32: 10 bits of mantissa, sums in
// f32. Kernels that plan through it need not know; everything else is the device that it stands for.
#pragma once

#include <memory>
#include <utility>

#include "kernels/device/conv_library.h"
#include "kernels/device/forwarding_device.h"
#include "kernels/device/matmul_library.h"

namespace ampc {

class Tf32Device : public ForwardingDevice {
 public:
  explicit Tf32Device(std::shared_ptr<Device> device) : ForwardingDevice(std::move(device)), matmul_(*this), conv_(*this) {}

  absl::StatusOr<MatmulLibrary*> matmul() override { return &matmul_; }
  absl::StatusOr<ConvLibrary*> conv() override { return &conv_; }

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

  Matmul matmul_;
  Conv conv_;
};

}  // namespace ampc
