// Ops that the cases of golden ops and of gradients do not reach: what plans and trainers put in.
#include <cstring>

#include "kernels/device/device.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"
#include "tests/cuda/device_under_test.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/kernels_ran.h"
#include "tests/testlib/redzone_memory.h"
#include "tests/testlib/status.h"

namespace ampc::testing {

absl::Status RegisterKernelsUnderTest(KernelRegistry* registry);

namespace {

class Rest : public ::testing::TestWithParam<DType> {
 protected:
  Tensor Values(const Shape& dims, uint32_t seed) const { return Low(GetParam(), dims, Random(dims, seed).floats()); }
};
INSTANTIATE_TEST_SUITE_P(Floats, Rest, ::testing::Values(DType::kF32, DType::kF16, DType::kBF16),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST_P(Rest, Memcpy) {
  const Tensor x = Values({37}, 1);
  ASSERT_OK_AND_ASSIGN(const auto out, OpRun("memcpy").In("X", x).Attr("dst_place_type", 1).Out("Out").Run());
  EXPECT_TRUE(out[0].stored == x.stored);
}

TEST_P(Rest, Fc) {
  for (const char* activation : {"", "relu"}) {
    OpRun run("fc");
    run.In("Input", Values({5, 24}, 1))
        .In("W", Values({24, 16}, 2))
        .In("Bias", Values({16}, 3))
        .Attr("activation_type", std::string(activation));
    EXPECT_OK(run.Out("Out").Run().status()) << activation;
  }
}

TEST_P(Rest, Norms) {
  EXPECT_OK(OpRun("squared_l2_norm").In("X", Values({3000}, 1)).Out("Out").Run().status());
  EXPECT_OK(OpRun("clip_by_norm").In("X", Values({3000}, 2)).Attr("max_norm", 1.5f).Out("Out").Run().status());
  EXPECT_OK(OpRun("grouped_squared_l2_norm").In("X", Values({3000}, 3)).In("X", Values({7}, 4)).Out("Out", 2).Run().status());
}

TEST_P(Rest, LossScaling) {
  const Tensor a = Values({300}, 1), b = Values({7}, 2);
  OpRun check("check_finite_and_unscale");
  check.In("X", a).In("X", b).In("Scale", F32({1}, {8})).Out("Out", 2).Out("FoundInfinite");
  EXPECT_OK(check.Run().status());
  for (const bool found : {false, true}) {
    OpRun update("update_loss_scaling");
    update.In("X", a).In("X", b).In("FoundInfinite", Of({1}, std::vector<bool>{found})).In("PrevLossScaling", F32({1}, {1024}));
    update.In("InGoodSteps", I32({1}, {4}))
        .In("InBadSteps", I32({1}, {1}))
        .Attr("incr_every_n_steps", 5)
        .Attr("decr_every_n_nan_or_inf", 2);
    update.Attr("incr_ratio", 2.0f).Attr("decr_ratio", 0.5f).Out("Out", 2).Out("LossScaling").Out("OutGoodSteps").Out("OutBadSteps");
    EXPECT_OK(update.Run().status()) << found;
  }
}

// Gradients of a process that trains alone: packed and unpacked, whole vectors of 4, between which nothing lies.
TEST_P(Rest, ExchangeOfOneProcess) {
  const Tensor a = Values({12}, 1), b = Values({4, 50}, 2);
  ASSERT_OK_AND_ASSIGN(const auto sum, OpRun("c_allreduce_sum").In("X", a).In("X", b).Out("Out", 2).Run());
  EXPECT_TRUE(sum[0].stored == a.stored && sum[1].stored == b.stored);
  ASSERT_OK_AND_ASSIGN(const auto pack, OpRun("c_allreduce_start").In("X", a).In("X", b).Out("Pack").Run());
  ASSERT_OK_AND_ASSIGN(const auto out, OpRun("c_allreduce_finish").In("Pack", pack[0]).In("X", a).In("X", b).Out("Out", 2).Run());
  EXPECT_TRUE(out[0].stored == a.stored && out[1].stored == b.stored);
}

// The entry of plans, which has no op.
TEST_P(Rest, ConvertLayout) {
  KernelRegistry kernels;
  ASSERT_OK(RegisterKernelsUnderTest(&kernels));
  const KernelEntry* entry = kernels.Find("convert_layout");
  ASSERT_NE(entry, nullptr);
  ASSERT_OK_AND_ASSIGN(const auto device, DeviceUnderTest());
  ASSERT_OK_AND_ASSIGN(const auto stream, device->NewStream());
  const Dims dims = {2, 35, 5, 9};
  const size_t width = SizeOf(GetParam()), images = 2, channels = 35, pixels = 45;
  std::vector<char> plain(images * channels * pixels * width), last(plain.size()), found(plain.size());
  for (size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<char>(i * 37 % 251);
  for (size_t n = 0; n < images; ++n) {
    for (size_t i = 0; i < channels * pixels; ++i) {
      const size_t c = i / pixels, p = i % pixels;
      std::memcpy(&last[((n * pixels + p) * channels + c) * width], &plain[((n * channels + c) * pixels + p) * width], width);
    }
  }
  for (const bool to_last : {true, false}) {
    KernelSpec spec;
    spec.inputs = {{GetParam(), dims, to_last ? Layout::kPlain : Layout::kChannelsLast}};
    spec.outputs = {{GetParam(), dims, to_last ? Layout::kChannelsLast : Layout::kPlain}};
    spec.device = device.get();
    NoteKernelRan(entry->op, spec);
    ASSERT_OK_AND_ASSIGN(const auto kernel, entry->make(spec));
    RedzoneMemory in(*stream), out(*stream);
    ASSERT_OK(in.Allocate(static_cast<int64_t>(plain.size())));
    ASSERT_OK(out.Allocate(static_cast<int64_t>(plain.size())));
    ASSERT_OK(in.Write(to_last ? plain.data() : last.data()));
    const void* operand = in.data();
    void* result = out.data();
    ASSERT_OK(kernel->Run({{&operand, 1}, {&result, 1}, nullptr, 1, stream.get()}));
    ASSERT_OK(out.CheckRedzone("the result"));
    ASSERT_OK(out.Read(found.data()));
    EXPECT_TRUE(found == (to_last ? last : plain)) << to_last;
  }
}

TEST(RestOfF32, AssignValue) {
  OpRun run("assign_value");
  run.Attr("shape", std::vector<int32_t>{3}).Attr("dtype", DType::kF32).Attr("fp32_values", std::vector<float>{1, -2, 0.1f});
  EXPECT_OK(run.Out("Out").Run().status());
}

TEST(RestOfF32, LearningRate) {
  OpRun run("lr_schedule");
  run.In("LearningRate", F32({1}, {0.5f}))
      .In("Step", I64({1}, {7}))
      .Attr("kind", std::string("cosine"))
      .Attr("base", 0.5)
      .Attr("steps", int64_t{100});
  EXPECT_OK(run.Out("LearningRateOut").Out("StepOut").Run().status());
}

}  // namespace
}  // namespace ampc::testing
