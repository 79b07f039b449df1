// Sessions on the emulated device, against the CPU.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_replace.h"
#include "graph/base/error.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/device/device.h"
#include "kernels/device/emulated/emulated_device.h"
#include "runtime/session.h"
#include "tests/cuda/session/lazy_kernels.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

// With the kernels of the device; with the CPU's as work of the device; and with none: the host computes everything.
class OnDevice : public ::testing::TestWithParam<const char*> {
 protected:
  bool Is(absl::string_view kernels) const { return GetParam() == kernels; }
  void SetUp() override { AddEmulatedDevice(Is("device") ? CudaKernels() : Is("lazy") ? LazyKernels() : NoKernels()); }
};
INSTANTIATE_TEST_SUITE_P(Kernels, OnDevice, ::testing::Values("device", "lazy", "host"),
                         [](const auto& info) { return std::string(info.param); });

SessionOptions Device(bool strict = false) { return {.device = "emulated:0", .threads = 1, .strict_rounding = strict}; }

// The same feeds several times on both, so that the device captures and replays; values equal bit for bit unless `near`.
void Compare(absl::string_view text, const TensorMap& feeds, bool near = false, int runs = 4) {
  ASSERT_OK_AND_ASSIGN(const Session cpu, FromText(text, {.threads = 1, .strict_rounding = true}));
  ASSERT_OK_AND_ASSIGN(const Session device, FromText(text, Device(true)));
  ASSERT_OK_AND_ASSIGN(const TensorMap want, cpu.Run(feeds));
  for (int run = 0; run < runs; ++run) {
    ASSERT_OK_AND_ASSIGN(const TensorMap got, device.Run(feeds));
    ASSERT_EQ(got.size(), want.size());
    for (const auto& [name, value] : want) {
      if (!near) {
        EXPECT_TRUE(got.at(name) == value) << name << " in run " << run;
        continue;
      }
      ASSERT_EQ(got.at(name).dtype(), value.dtype());
      ASSERT_EQ(DimsOf(got.at(name)), DimsOf(value));
      for (size_t i = 0; i < Floats(value).size(); ++i) EXPECT_NEAR(Floats(got.at(name))[i], Floats(value)[i], 1e-4) << name << " " << i;
    }
  }
}

constexpr char kMlp[] = R"(
feed  x : f32 [?, 2]
const w : f32 [2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
const b : f32 [3] = [0.5, -20.0, 1.0]
h = matmul_v2(x, w) : f32 [?, 3]
s = elementwise_add(h, b) : f32 [?, 3]
y = relu(s) : f32 [?, 3]
fetch y
)";

TEST_P(OnDevice, RunsAnMlp) {
  Compare(kMlp, {{"x", F({2, 2}, {1, 1, 2, 3})}});
  Compare(kMlp, {{"x", F({0, 2}, {})}});
}

TEST_P(OnDevice, HalvesAreRoundedOnce) {
  Compare(R"(
feed  x : f32 [3]
feed  l : f16 [3]
const c : f16 [3] = [1.0, 0.5, 3.0]
h = cast(x) in_dtype=f32 out_dtype=f16 : f16 [3]
m = elementwise_add(h, l) : f16 [3]
y = elementwise_add(m, c) : f16 [3]
b = cast(y) in_dtype=f16 out_dtype=bf16 : bf16 [3]
z = cast(b) in_dtype=bf16 out_dtype=f32 : f32 [3]
k = scale(z) scale=3.0 : f32 [3]
fetch y, b, k, l, c
)",
          {{"x", F({3}, {2049, 1e-8f, 40000})}, {"l", HostTensor::Of<Half>({3}, {Half(1.0f), Half(-2.5f), Half(30000.0f)})}});
}

TEST_P(OnDevice, ReuseKeepsLiveValues) {
  Compare(R"(
feed x : f32 [4]
a = relu(x) : f32 [4]
b = scale(a) scale=2.0 : f32 [4]
c = scale(b) bias=1.0 : f32 [4]
d = elementwise_add(b, c) : f32 [4]
e = elementwise_add(a, d) : f32 [4]
r, r.xshape = reshape2(e) shape=[2, 2] : f32 [2, 2], f32 [0, 4]
fetch e, a, x, r
)",
          {{"x", F({4}, {-1, 1, 2, 3})}});
}

// f16 convolutions lie channels-last on the device.
TEST_P(OnDevice, LayoutsAreInvisible) {
  Compare(R"(
feed  x : f16 [1, 2, 3, 3]
const w : f16 [2, 2, 2, 2] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]
const one : f16 [1, 2, 1, 1] = [10.0, 20.0]
conv2d(Input=x, Filter=w) -> Output=c : f16 [1, 2, 2, 2]
s = elementwise_add(c, one) : f16 [1, 2, 2, 2]
r, r.xshape = reshape2(s) shape=[1, 8] : f16 [1, 8], f16 [0, 1, 2, 2, 2]
fetch r, c
)",
          {{"x", HostTensor::Of<Half>({1, 2, 3, 3}, {Half(0.0f), Half(1.0f), Half(2.0f), Half(3.0f), Half(4.0f), Half(5.0f), Half(6.0f),
                                                     Half(7.0f), Half(8.0f), Half(9.0f), Half(1.0f), Half(2.0f), Half(3.0f), Half(4.0f),
                                                     Half(5.0f), Half(6.0f), Half(7.0f), Half(8.0f)})}});
}

TEST_P(OnDevice, ThreadsShareASession) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kMlp, Device()));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const float v = static_cast<float>(t * 1000 + i);
        absl::StatusOr<TensorMap> out = session.Run({{"x", F({1, 2}, {v, 0})}});
        if (!out.ok() || Floats(out->at("y"))[0] != v + 0.5f) ++wrong[t];
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

// h = 2h + x, n times, in halves; what passes between the blocks is on the host.
TEST_P(OnDevice, LoopsRun) {
  Compare(R"(
feed x : f16 [?]
feed n : i64 [1]
const zero : i64 [1] = [0]
carry i : i64 [1]
carry h : f16 [?]
carry more : bool [1]
i <- assign(zero)
h <- assign(x)
more <- less_than(i, n)
while(X=[n, x], Condition=more) -> Out<-[i, h, more] sub_block=&body
y = relu(h) : f16 [?]
fetch y, i
block body parent=main {
  d = scale(h) scale=2.0 : f16 [?]
  h <- elementwise_add(d, x)
  i <- increment(i)
  more <- less_than(i, n)
}
)",
          {{"x", HostTensor::Of<Half>({2}, {Half(1.0f), Half(-1.5f)})}, {"n", I(12)}});
}

// A result whose dims depend on values.
TEST_P(OnDevice, ShapesThatDependOnData) {
  Compare(R"(
feed x : f32 [?]
const zero : f32 [1] = [0.0]
c = greater_than(x, zero) : bool [?]
where_index(Condition=c) -> Out=at : i64 [?, 1]
y = cast(at) in_dtype=i64 out_dtype=f32 : f32 [?, 1]
z = scale(y) scale=2.0 : f32 [?, 1]
fetch z
)",
          {{"x", F({5}, {1, -1, 0, 2, 3})}});
}

struct Seen : StepObserver {
  explicit Seen(bool values) : values(values) {}
  bool wants_values() const override { return values; }
  absl::Status AfterStep(const ObservedStep& step) override {
    devices.insert(step.device);
    ops.push_back(step.op->type());
    copied += step.copied_bytes;
    EXPECT_GE(step.seconds, 0);
    for (const ObservedValue& value : step.results) {
      EXPECT_EQ(value.data != nullptr, values);
      if (value.data != nullptr && value.desc.NumElements() > 0) last = static_cast<const float*>(value.data)[0];
    }
    return absl::OkStatus();
  }
  bool values;
  std::set<std::string> devices;
  std::vector<std::string> ops;
  int64_t copied = 0;
  float last = 0;
};

TEST_P(OnDevice, ObserversSeeSteps) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kMlp, Device(true)));
  Seen values(true), times(false);
  ASSERT_OK(session.Run({{"x", F({1, 2}, {1, 1})}}, values).status());
  ASSERT_OK(session.Run({{"x", F({1, 2}, {1, 1})}}, times).status());
  EXPECT_EQ(values.ops, (std::vector<std::string>{"matmul_v2", "elementwise_add", "relu"}));
  EXPECT_EQ(times.ops, values.ops);
  EXPECT_EQ(values.last, 5.5f);
  if (Is("host")) {
    EXPECT_EQ(times.devices, (std::set<std::string>{"host"}));
    EXPECT_EQ(times.copied, 4 * (2 + 3 + 3 + 3 + 3 + 3));
  }
}

TEST(SessionDevice, ReplaysFromTheThirdRunOn) {
  AddEmulatedDevice(LazyKernels());
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kMlp, Device(true)));
  std::vector<int64_t> runs;
  for (int i = 0; i < 5; ++i) {
    const int64_t before = LazyRuns();
    const float v = static_cast<float>(i);
    ASSERT_OK_AND_ASSIGN(const TensorMap out, session.Run({{"x", F({1, 2}, {v, 0})}}));
    EXPECT_EQ(Floats(out.at("y"))[0], v + 0.5f);
    runs.push_back(LazyRuns() - before);
  }
  EXPECT_EQ(runs, (std::vector<int64_t>{3, 3, 3, 0, 0}));
}

// A kernel that cannot be captured and does not say so.
struct Waits : Kernel {
  std::unique_ptr<Kernel> kernel;
  absl::Status Run(const KernelArgs& args) const override {
    if (absl::Status s = args.stream->Synchronize(); !s.ok()) return s;
    return kernel->Run(args);
  }
  std::string implementation() const override { return "waits"; }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeWaits(const KernelSpec& spec) {
  auto waits = std::make_unique<Waits>();
  absl::StatusOr<std::unique_ptr<Kernel>> kernel = LazyKernels().Find(spec.op->type())->make(spec);
  if (!kernel.ok()) return kernel;
  waits->kernel = *std::move(kernel);
  return waits;
}

TEST(SessionDevice, WhatCannotBeCapturedRunsStepByStep) {
  KernelRegistry kernels;
  ASSERT_OK(kernels.Add({.op = "matmul_v2", .make = &MakeWaits, .dtypes = {DType::kF32}}));
  ASSERT_OK(kernels.Add(*LazyKernels().Find("elementwise_add")));
  ASSERT_OK(kernels.Add(*LazyKernels().Find("relu")));
  AddEmulatedDevice(kernels);
  Compare(kMlp, {{"x", F({2, 2}, {1, 1, 2, 3})}}, false, 6);
  AddEmulatedDevice(NoKernels());
}

struct LayoutsSeen : StepObserver {
  absl::Status AfterStep(const ObservedStep& step) override {
    for (const ObservedValue& value : step.results) layouts[value.var->name()] = value.desc.layout;
    return absl::OkStatus();
  }
  std::map<std::string, Layout> layouts;
};

TEST(SessionDevice, OnlyConvolutionsInHalvesAreChannelsLast) {
  AddEmulatedDevice(LazyKernels());
  for (const bool low : {true, false}) {
    std::string text = R"(
feed  x : f16 [1, 2, 4, 4]
const w : f16 [2, 2, 1, 1] = [1.0, 2.0, 3.0, 4.0]
conv2d(Input=x, Filter=w) -> Output=c : f16 [1, 2, 4, 4]
r = relu(c) : f16 [1, 2, 4, 4]
m = transpose(r) axis=[0, 2, 1, 3] : f16 [1, 4, 2, 4]
fetch m
)";
    if (!low) text = absl::StrReplaceAll(text, {{"f16", "f32"}});
    ASSERT_OK_AND_ASSIGN(const Session session, FromText(text, Device(true)));
    LayoutsSeen seen;
    absl::StatusOr<HostTensor> x = HostTensor::Create(low ? DType::kF16 : DType::kF32, {1, 2, 4, 4});
    ASSERT_OK(session.Run({{"x", *x}}, seen).status());
    EXPECT_EQ(seen.layouts.at("c") == Layout::kChannelsLast, low);
    EXPECT_EQ(seen.layouts.at("r") == Layout::kChannelsLast, low);
    EXPECT_EQ(seen.layouts.at("m"), Layout::kPlain);
  }
}

TEST(SessionDevice, SaysWhatDoesNotFit) {
  AddEmulatedDevice(NoKernels());
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [?, 1024]
big = scale(x) scale=2.0 : f32 [?, 1024]
y = relu(big) : f32 [?, 1024]
fetch y
)",
                                                       {.device = "emulated:1", .threads = 1, .memory_limit_bytes = 1 << 20}));
  ASSERT_OK(session.Run({{"x", F({1, 1024}, std::vector<float>(1024))}}).status());
  const absl::Status status = session.Run({{"x", F({1024, 1024}, std::vector<float>(1 << 20))}}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_NE(status.message().find("the plan's peak"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("'big' (f32, 4194304 bytes)"), absl::string_view::npos) << status;
}

TEST(SessionDevice, OptionsThatCannotBe) {
  AddEmulatedDevice(NoKernels());
  ExpectError(FromText(kMlp, {.device = "emulated:7"}).status(), ExitCode::kUnsupported, "emulated:7");
  ExpectError(FromText(kMlp, {.device = "emulated:x"}).status(), ExitCode::kUsage, "emulated:x");
  ExpectError(FromText(kMlp, {.device = "emulated:0", .memory_limit_bytes = -1}).status(), ExitCode::kUsage, "memory_limit_bytes is -1");
}

}  // namespace
}  // namespace ampc
