// Device code computes a convolution only where the library has no plan for it; every other failure of the library is the op's.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "graph/base/error.h"
#include "graph/op_registry.h"
#include "graph/program.h"
#include "kernels/device/allocator.h"
#include "kernels/device/conv_library.h"
#include "kernels/device/emulated/emulated_device.h"
#include "kernels/device/forwarding_device.h"
#include "kernels/device/matmul_library.h"
#include "kernels/device/missing_library.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"
#include "tests/testlib/status.h"

namespace ampc::cuda {
absl::Status RegisterConv(KernelRegistry* registry);
}

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

class FailingLibrary : public ConvLibrary {
 public:
  explicit FailingLibrary(absl::Status status) : status_(std::move(status)) {}
  absl::StatusOr<std::shared_ptr<const ConvPlan>> Plan(const ConvDesc&, int64_t) override { return status_; }

 private:
  const absl::Status status_;
};

// The emulated device with a library that cannot be opened, or that fails to plan.
class DeviceWithFailingConv : public ForwardingDevice {
 public:
  DeviceWithFailingConv(absl::Status open, absl::Status plan)
      : ForwardingDevice(NewEmulatedDevice(0)), open_(std::move(open)), library_(std::move(plan)) {}
  absl::StatusOr<ConvLibrary*> conv() override {
    if (!open_.ok()) return open_;
    return &library_;
  }

 private:
  const absl::Status open_;
  FailingLibrary library_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeConvolution(Device& device) {
  static auto* const kernels = [] {
    auto* registry = new KernelRegistry;
    EXPECT_OK(cuda::RegisterConv(registry));
    return registry;
  }();
  Program program;
  std::unique_ptr<Op> op = program.main().NewOp(Ops().Find("conv2d"));
  const auto var = [&](const char* name, const Dims& dims, VarKind kind) {
    return program.main().AddVar(name, kind, TensorType(DType::kF32, dims));
  };
  op->SetInputs(op->def().InputSlot("Input"), {var("x", {1, 4, 5, 5}, VarKind::kFeed)});
  op->SetInputs(op->def().InputSlot("Filter"), {var("w", {6, 4, 3, 3}, VarKind::kFeed)});
  op->SetOutputs(op->def().OutputSlot("Output"), {var("y", {1, 6, 3, 3}, VarKind::kTemp)});
  KernelSpec spec;
  spec.op = program.main().Append(std::move(op));
  spec.inputs = {{DType::kF32, {1, 4, 5, 5}}, {DType::kF32, {6, 4, 3, 3}}};
  spec.outputs = {{DType::kF32, {1, 6, 3, 3}}};
  spec.values = {nullptr, nullptr};
  spec.device = &device;
  return MakeKernel(*kernels->Find("conv2d"), spec);
}

TEST(ConvFallback, WithoutAPlanDeviceCodeComputesItAndSaysWhy) {
  DeviceWithFailingConv device(absl::OkStatus(), UnsupportedError("no engine for this shape"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Kernel> kernel, MakeConvolution(device));
  EXPECT_EQ(kernel->implementation(), "cuda:conv_direct because no engine for this shape");
}

TEST(ConvFallback, AFailureOfTheLibraryIsTheOps) {
  for (const absl::Status& failure :
       {InternalError("cudnnBackendFinalize: CUDNN_STATUS_EXECUTION_FAILED"), absl::ResourceExhaustedError("no memory")}) {
    DeviceWithFailingConv device(absl::OkStatus(), failure);
    const absl::Status status = MakeConvolution(device).status();
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(failure.message())));
  }
}

TEST(ConvFallback, AMissingLibraryIsExitCode4AndNothingFallsBack) {
  DeviceWithFailingConv device(MissingLibraryError("libcudnn.so.9 was not found"), absl::OkStatus());
  const absl::Status status = MakeConvolution(device).status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kUnsupported);
  EXPECT_FALSE(MayFallBack(Annotate(status, "op 'conv2d'")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("libcudnn.so.9 was not found"));
}

}  // namespace
}  // namespace ampc::testing
