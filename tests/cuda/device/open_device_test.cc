#include "kernels/device/open_device.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/device/cuda/device_rules.h"
#include "kernels/device/device.h"
#include "kernels/device/emulated/emulated_device.h"
#include "kernels/kernel_registry.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::StatusIs;

TEST(OpenDevice, NamesOfAnotherForm) {
  for (const char* name :
       {"", "tpu", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:1:2", "cuda:99999999999", "CUDA", "cpu:0"}) {
    EXPECT_THAT(OpenDevice(name), StatusIs(ExitCode::kUsage, std::string("device '") + name + "' is not of the form cpu, cuda or cuda:N"));
  }
}

TEST(OpenDevice, TheCpuIsNoDevice) {
  ASSERT_OK_AND_ASSIGN(const DeviceTarget target, OpenDevice("cpu"));
  EXPECT_EQ(target.device, nullptr);
}

TEST(OpenDevice, OneObjectWhileSomebodyUsesIt) {
  KernelRegistry kernels;
  AddEmulatedDevice(kernels);
  ASSERT_OK_AND_ASSIGN(DeviceTarget first, OpenDevice("emulated"));
  ASSERT_OK_AND_ASSIGN(const DeviceTarget same, OpenDevice("emulated:0"));
  ASSERT_OK_AND_ASSIGN(const DeviceTarget other, OpenDevice("emulated:1"));
  EXPECT_EQ(first.device, same.device);
  EXPECT_NE(first.device, other.device);
  EXPECT_EQ(same.kernels, &kernels);
  EXPECT_EQ(other.device->name(), "emulated:1");
  EXPECT_THAT(OpenDevice("emulated:2"), StatusIs(ExitCode::kUnsupported, HasSubstr("emulated:2")));
}

class NoTensorCores : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  std::string name() const override { return "old:0"; }
  absl::StatusOr<std::unique_ptr<Stream>> NewStream() override { return absl::UnimplementedError(""); }
  absl::StatusOr<std::unique_ptr<Event>> NewEvent(bool) override { return absl::UnimplementedError(""); }
  absl::StatusOr<void*> AllocateRaw(int64_t) override { return absl::UnimplementedError(""); }
  void FreeRaw(void*) override {}
  absl::StatusOr<void*> AllocatePinned(int64_t) override { return absl::UnimplementedError(""); }
  void FreePinned(void*) override {}
  CachingAllocator& allocator() override { std::abort(); }
  absl::StatusOr<MatmulLibrary*> matmul() override { return absl::UnimplementedError(""); }
  absl::StatusOr<ConvLibrary*> conv() override { return absl::UnimplementedError(""); }
  absl::Status LaunchStatus(int, absl::string_view) const override { return absl::OkStatus(); }
  int64_t synchronizations() const override { return 0; }

 private:
  DeviceInfo info_ = {.name = "NVIDIA GeForce GTX 1650"};
};

TEST(OpenDevice, WarnsWithoutTensorCores) {
  AddDeviceBackend("old", [](int) -> absl::StatusOr<DeviceTarget> {
    return DeviceTarget{std::make_shared<NoTensorCores>(), nullptr, nullptr};
  });
  std::vector<std::string> warnings;
  ASSERT_OK(OpenDevice("old", [&](const std::string& warning) { warnings.push_back(warning); }));
  EXPECT_THAT(warnings,
              ::testing::ElementsAre(
                  "old:0 is a NVIDIA GeForce GTX 1650, which has no tensor cores: float16 will not be faster than float32 on it"));
}

// The answers of this machine depend on the build and on the machine; each answer is one sentence.
TEST(OpenDevice, CudaOrOneSentenceWhyNot) {
  const absl::StatusOr<DeviceTarget> target = OpenDevice("cuda:0");
  if (target.ok()) {
    EXPECT_EQ(target->device->name(), "cuda:0");
    return;
  }
#if defined(AMPC_TEST_CUDA)
  EXPECT_THAT(target, StatusIs(ExitCode::kUnsupported,
                               AnyOf(StartsWith("cuda:0: there is no NVIDIA driver on this machine (libcuda.so.1: cannot open"),
                                     StartsWith("cuda:0: the NVIDIA driver "), HasSubstr("and 7.5 is needed"))));
#else
  EXPECT_THAT(target, StatusIs(ExitCode::kUnsupported, "device 'cuda:0': this build has no CUDA, build with --config=cuda"));
#endif
}

TEST(DeviceRules, MinimalComputeCapability) {
  EXPECT_OK(CheckCapability("cuda:0", {.name = "T", .major = 7, .minor = 5}));
  EXPECT_OK(CheckCapability("cuda:0", {.name = "T", .major = 12, .minor = 0}));
  EXPECT_THAT(CheckCapability("cuda:1", {.name = "Tesla V100", .major = 7, .minor = 0}),
              StatusIs(ExitCode::kUnsupported, "cuda:1 is a Tesla V100 of compute capability 7.0, and 7.5 is needed"));
}

TEST(DeviceRules, TensorCores) {
  for (const char* name :
       {"NVIDIA GeForce GTX 1660 Ti", "NVIDIA GeForce GTX 1650", "NVIDIA T600", "NVIDIA T1000 8GB", "NVIDIA GeForce MX450", "T400"}) {
    EXPECT_FALSE(HasTensorCores(7, 5, name)) << name;
  }
  for (const char* name : {"Tesla T4", "T4G", "NVIDIA GeForce RTX 2080 Ti", "NVIDIA TITAN RTX", "Quadro RTX 4000", "NVIDIA T10"}) {
    EXPECT_TRUE(HasTensorCores(7, 5, name)) << name;
  }
  EXPECT_TRUE(HasTensorCores(9, 0, "NVIDIA H200"));
  EXPECT_TRUE(HasTensorCores(7, 0, "Tesla V100"));
  EXPECT_FALSE(HasTensorCores(6, 1, "Tesla P4"));
}

}  // namespace
}  // namespace ampc
