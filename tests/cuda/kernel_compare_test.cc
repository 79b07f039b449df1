// Faults that the comparison of kernels must notice.
#include "tests/cuda/kernel_compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/device/emulated/emulated_device.h"
#include "tests/autodiff/gradient_case.h"
#include "tests/testlib/device_tolerance.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// tanh of the hardware is off by 2^-11: near -3 that is 7e-4 of a gelu of -0.004, two hundred units of f16.
TEST(Tolerance, OfTheLibrarysGelu) {
  const double x = -3, gelu = 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x))), found = gelu + 0.5 * x * 0x1p-11;
  const DeviceTolerance ours = DeviceToleranceFor("fused_gemm_epilogue", DType::kF16);
  EXPECT_FALSE(WithinDeviceTolerance(found, gelu, DType::kF16, 3, ours));
  EXPECT_TRUE(WithinDeviceTolerance(found, gelu, DType::kF16, 3, WithLibraryGelu(ours, DType::kF16, false)));
  EXPECT_FALSE(WithinDeviceTolerance(gelu + 2e-3, gelu, DType::kF16, 3, WithLibraryGelu(ours, DType::kF16, false)));
  EXPECT_FALSE(WithinDeviceTolerance(found, gelu, DType::kF32, 3, WithLibraryGelu(ours, DType::kF32, false)));
}

enum class Mistake { kNone, kValue, kBeyondResult, kBeyondWorkspace, kOperand, kNotInPlace };
Mistake mistake = Mistake::kNone;

// y[i] = max(x[i], 0), with a mistake.
absl::StatusOr<std::unique_ptr<Kernel>> MakeRelu(const KernelSpec& spec) {
  KernelTraits traits{.implementation = "test:relu", .in_place_input = 0, .workspace_bytes = 8};
  const int64_t n = spec.outputs[0].NumElements();
  return MakeDeviceKernel(traits, [n](const KernelArgs& args, void* stream) {
    auto* x = static_cast<float*>(const_cast<void*>(args.inputs[0]));
    auto* y = static_cast<float*>(args.outputs[0]);
    auto* work = static_cast<float*>(args.workspace);
    const Mistake m = mistake;
    return cuda::ForEach(stream, n, [=] AMPC_DEVICE(int64_t i) {
      const int64_t from = m == Mistake::kNotInPlace && i > 0 ? i - 1 : i;
      y[i] = x[from] > 0 && x == y ? x[from] : x[i] > 0 ? x[i] : 0;
      if (i > 0) return;
      if (m == Mistake::kValue) y[0] += 1;
      if (m == Mistake::kBeyondResult) y[n] = 1;
      if (m == Mistake::kBeyondWorkspace) work[2] = 1;
      if (m == Mistake::kOperand) x[1] = 7;
    });
  });
}

ComparedKernels Compare(Mistake with) {
  mistake = with;
  ComparedKernels compared;
  GradientCase c;
  c.name = "relu";
  absl::StatusOr<Program> program = ParseTyped("feed x: f32 [5]\ny = relu(x)\nfetch y\n");
  EXPECT_OK(program);
  KernelRegistry registry;
  EXPECT_OK(registry.Add({"relu", &MakeRelu, {DType::kF32}}));
  const std::shared_ptr<Device> device = NewEmulatedDevice(0);
  EXPECT_OK(CompareKernels(*program, {{"x", HostTensor::FromValues<float>({5}, {1, -2, 3, -4, 5})}}, registry, *device, &compared));
  EXPECT_THAT(compared.compared, SizeIs(1));
  return compared;
}

TEST(KernelCompare, AcceptsARightKernel) { EXPECT_THAT(Compare(Mistake::kNone).failures, IsEmpty()); }

TEST(KernelCompare, NoticesMistakes) {
  const std::pair<Mistake, const char*> mistakes[] = {
      {Mistake::kValue, "element 0 of 5 is 2, the CPU has 1"},   {Mistake::kBeyondResult, "wrote beyond result 0"},
      {Mistake::kBeyondWorkspace, "wrote beyond its workspace"}, {Mistake::kOperand, "changed operand 0"},
      {Mistake::kNotInPlace, "result 0 differs in place"},
  };
  for (const auto& [with, text] : mistakes) {
    const ComparedKernels compared = Compare(with);
    ASSERT_THAT(compared.failures, SizeIs(1)) << text;
    EXPECT_THAT(compared.failures[0], HasSubstr(text));
  }
}

}  // namespace
}  // namespace ampc::testing
