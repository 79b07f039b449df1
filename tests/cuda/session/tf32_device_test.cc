#include "runtime/exec/tf32_device.h"

#include <gtest/gtest.h>

#include "kernels/device/emulated/emulated_device.h"
#include "runtime/exec/choose_device.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

// Keeps what it is asked for.
struct Recorder : Tf32Device {
  struct Matmul : MatmulLibrary {
    absl::StatusOr<std::shared_ptr<const MatmulPlan>> Plan(const MatmulDesc& d, int64_t) override {
      desc = d;
      return nullptr;
    }
    MatmulDesc desc;
  };
  struct Conv : ConvLibrary {
    absl::StatusOr<std::shared_ptr<const ConvPlan>> Plan(const ConvDesc& d, int64_t) override {
      desc = d;
      return nullptr;
    }
    ConvDesc desc;
  };
  using Tf32Device::Tf32Device;
  absl::StatusOr<MatmulLibrary*> matmul() override { return &products; }
  absl::StatusOr<ConvLibrary*> conv() override { return &convolutions; }
  Matmul products;
  Conv convolutions;
};

TEST(Tf32Device, AllowsItForF32Only) {
  const auto recorder = std::make_shared<Recorder>(NewEmulatedDevice(0));
  Tf32Device device(recorder);
  EXPECT_EQ(device.name(), "emulated:0");
  for (const DType type : {DType::kF32, DType::kF16, DType::kF64}) {
    MatmulDesc product;
    product.m = 7;
    product.type_ab = type;
    ASSERT_OK_AND_ASSIGN(MatmulLibrary * matmul, device.matmul());
    ASSERT_OK(matmul->Plan(product, 0).status());
    EXPECT_EQ(recorder->products.desc.m, 7);
    EXPECT_EQ(recorder->products.desc.tf32, type == DType::kF32);
    ConvDesc convolution;
    convolution.groups = 3;
    convolution.type = type;
    ASSERT_OK_AND_ASSIGN(ConvLibrary * conv, device.conv());
    ASSERT_OK(conv->Plan(convolution, 0).status());
    EXPECT_EQ(recorder->convolutions.desc.groups, 3);
    EXPECT_EQ(recorder->convolutions.desc.tf32, type == DType::kF32);
  }
}

TEST(ChooseDevice, WrapsWhenAsked) {
  static const KernelRegistry none;
  AddEmulatedDevice(none);
  ASSERT_OK_AND_ASSIGN(const DeviceChoice plain, ChooseDevice({.device = "emulated:0"}));
  ASSERT_OK_AND_ASSIGN(const DeviceChoice wrapped, ChooseDevice({.device = "emulated:0", .tf32 = true}));
  EXPECT_EQ(dynamic_cast<Tf32Device*>(plain.target->device.get()), nullptr);
  EXPECT_NE(dynamic_cast<Tf32Device*>(wrapped.target->device.get()), nullptr);
  ASSERT_OK_AND_ASSIGN(const DeviceChoice cpu, ChooseDevice({.device = "cpu", .threads = 3}));
  EXPECT_FALSE(cpu.target.has_value());
  EXPECT_EQ(cpu.threads, 3);
}

}  // namespace
}  // namespace ampc
