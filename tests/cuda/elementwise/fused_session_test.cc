// Plans for a device fuse element-wise ops, and every bit stays: no rounding is left out.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/device/emulated/emulated_device.h"
#include "runtime/exec/observer.h"
#include "runtime/session.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

struct Seen : StepObserver {
  absl::Status AfterStep(const ObservedStep& step) override {
    implementations.insert(step.implementation);
    return absl::OkStatus();
  }
  std::set<std::string> implementations;
};

constexpr char kChain[] = R"(
feed  x : f32 [2, 8, 5]
feed  b : f16 [8]
feed  g : f16 [1]
h = cast(x) in_dtype=f32 out_dtype=f16 : f16 [2, 8, 5]
s = elementwise_add(h, b) axis=1 : f16 [2, 8, 5]
m = elementwise_mul(s, g) : f16 [2, 8, 5]
r = relu(m) : f16 [2, 8, 5]
t = sum(X=[r, h, s]) : f16 [2, 8, 5]
w = cast(t) in_dtype=f16 out_dtype=f32 : f32 [2, 8, 5]
z = elementwise_sub(w, x) : f32 [2, 8, 5]
fetch z, r
)";

TEST(FusedSession, KeepsEveryBit) {
  AddEmulatedDevice(CudaKernels());
  std::vector<float> x(80);
  std::vector<Half> b;
  for (int i = 0; i < 80; ++i) x[i] = 0.37f * static_cast<float>(i - 40) + 1e-4f * static_cast<float>(i * i);
  for (int i = 0; i < 8; ++i) b.push_back(Half(0.1f * static_cast<float>(i - 3)));
  x[7] = 70000;  // infinite as a half
  const TensorMap feeds = {
      {"x", F({2, 8, 5}, x)}, {"b", HostTensor::FromValues<Half>({8}, b)}, {"g", HostTensor::Of<Half>({1}, {Half(1.7f)})}};
  ASSERT_OK_AND_ASSIGN(const Session cpu, FromText(kChain, {.threads = 1, .strict_rounding = true}));
  ASSERT_OK_AND_ASSIGN(const Session device, FromText(kChain, {.device = "emulated:0", .threads = 1}));
  ASSERT_OK_AND_ASSIGN(const TensorMap want, cpu.Run(feeds));
  Seen seen;
  ASSERT_OK_AND_ASSIGN(const TensorMap got, device.Run(feeds, seen));
  EXPECT_TRUE(seen.implementations.contains("cuda:fused:7"));
  for (const auto& [name, value] : want) EXPECT_TRUE(got.at(name) == value) << name;
}

}  // namespace
}  // namespace ampc
