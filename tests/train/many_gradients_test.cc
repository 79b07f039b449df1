// check_finite_and_unscale and update_loss_scaling on many gradients: one bad element anywhere is found, and only then.
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "kernels/round.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

// Sizes from 0 to 100,000, most of them small; f32, f16 and bf16 in turns.
std::vector<Tensor> Gradients(int count) {
  std::vector<Tensor> all;
  for (int i = 0; i < count; ++i) {
    const int64_t n = i % 331 == 7 ? 100'000 - i : i % 97 == 5 ? 16'383 + i % 3 : i * 7919 % 70;
    all.push_back(Low(kTypes[i % 3], {n}, Random({n}, static_cast<uint32_t>(i), -100, 100).floats()));
  }
  return all;
}

// The gradients by 1/scale, rounded, and FoundInfinite last.
absl::StatusOr<std::vector<Tensor>> Unscale(const std::vector<Tensor>& gradients, float scale) {
  OpRun run("check_finite_and_unscale");
  for (const Tensor& t : gradients) run.In("X", t);
  return run.In("Scale", F32({1}, {scale})).Out("Out", static_cast<int>(gradients.size())).Out("FoundInfinite").Run();
}

TEST(ManyGradients, AreUnscaled) {
  const std::vector<Tensor> gradients = Gradients(1000);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> results, Unscale(gradients, 96));
  EXPECT_FALSE(results.back().As<bool>()[0]);
  const float inverse = static_cast<float>(1 / 96.0);
  for (size_t i = 0; i < gradients.size(); ++i) {
    std::vector<float> want = gradients[i].floats();
    for (float& v : want) v *= inverse;
    RoundTo(gradients[i].dtype, want.data(), static_cast<int64_t>(want.size()));
    ASSERT_EQ(results[i].floats(), want) << i;
  }
}

TEST(ManyGradients, OneBadElementIsFoundWhereverItIs) {
  const std::vector<Tensor> gradients = Gradients(120);
  std::minstd_rand random(7);
  for (const float bad : {kInf, -kInf, kNan}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<Tensor> with = gradients;
      size_t i = random() % with.size();
      while (with[i].stored.num_elements() == 0) i = (i + 1) % with.size();
      const auto values = with[i].stored.mutable_values<float>();
      const size_t at = round == 0 ? values.size() - 1 : random() % values.size();
      values[at] = bad;
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> results, Unscale(with, 2));
      ASSERT_TRUE(results.back().As<bool>()[0]) << "element " << at << " of gradient " << i;
      ASSERT_FALSE(std::isfinite(results[i].floats()[at]));
    }
  }
}

// Without results f32 is what is tested: what f16 cannot hold is finite there.
TEST(ManyGradients, AreOnlyLookedAt) {
  const auto look = [](const std::vector<Tensor>& gradients, float scale) {
    OpRun run("check_finite_and_unscale");
    for (const Tensor& t : gradients) run.In("X", t);
    return run.In("Scale", F32({1}, {scale})).Out("FoundInfinite").Run();
  };
  std::vector<Tensor> gradients = Gradients(300);
  ASSERT_OK_AND_ASSIGN(const auto finite, look(gradients, 0x1p-14f));
  EXPECT_FALSE(finite[0].As<bool>()[0]);
  for (const size_t i : {5u, 7u, 102u}) {  // small, large, odd
    const auto values = gradients[i].stored.mutable_values<float>();
    const float kept = std::exchange(values[values.size() - 1], -kInf);
    ASSERT_OK_AND_ASSIGN(const auto found, look(gradients, 2));
    EXPECT_TRUE(found[0].As<bool>()[0]) << i;
    values[values.size() - 1] = kept;
  }
  ASSERT_OK_AND_ASSIGN(const auto beyond, look({F32({3}, {1, 1e30f, 1})}, 1e-10f));
  EXPECT_TRUE(beyond[0].As<bool>()[0]);
}

// The test is of the result: a small scale makes large gradients overflow.
TEST(ManyGradients, OverflowByTheScaleIsFound) {
  const std::vector<Tensor> gradients = {F32({3}, {1, 2, 3}), Low(DType::kF16, {9}, std::vector<float>(9, 40000))};
  ASSERT_OK_AND_ASSIGN(const auto fits, Unscale(gradients, 1));
  EXPECT_FALSE(fits.back().As<bool>()[0]);
  ASSERT_OK_AND_ASSIGN(const auto overflows, Unscale(gradients, 0.5f));
  EXPECT_TRUE(overflows.back().As<bool>()[0]);
}

TEST(ManyGradients, ScalingZeroesThemOnlyWhereFound) {
  const std::vector<Tensor> gradients = Gradients(1000);
  for (const bool found : {false, true}) {
    OpRun run("update_loss_scaling");
    for (const Tensor& t : gradients) run.In("X", t);
    run.In("FoundInfinite", Of({1}, std::vector<bool>{found})).In("PrevLossScaling", F32({1}, {1024})).In("InGoodSteps", I32({1}, {4}));
    run.In("InBadSteps", I32({1}, {1})).Attr("incr_every_n_steps", 5).Attr("decr_every_n_nan_or_inf", 2).Attr("incr_ratio", 2.0f);
    run.Attr("decr_ratio", 0.5f).Out("Out", 1000).Out("LossScaling").Out("OutGoodSteps").Out("OutBadSteps");
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> results, run.Run());
    for (size_t i = 0; i < gradients.size(); ++i) {
      const size_t n = static_cast<size_t>(gradients[i].stored.num_elements());
      ASSERT_EQ(results[i].floats(), found ? std::vector<float>(n, 0) : gradients[i].floats()) << i;
    }
    EXPECT_EQ(results[1000].floats()[0], found ? 512 : 2048);
    EXPECT_EQ(results[1001].As<int32_t>()[0], 0);
    EXPECT_EQ(results[1002].As<int32_t>()[0], 0);
  }
}

}  // namespace
}  // namespace ampc::testing
