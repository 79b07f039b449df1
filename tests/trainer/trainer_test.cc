#include "runtime/train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/base/half.h"
#include "tests/testlib/parse_bare.h"
#include "tests/testlib/status.h"
#include "tests/trainer/text_trainer.h"

namespace ampc {
namespace {

using ::ampc::testing::StatusIs;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

float First(const TensorMap& map, const std::string& name) { return map.at(name).values<float>()[0]; }
int64_t Count(const Trainer& t, absl::string_view name) { return t.scope().Find(name)->value.values<int64_t>()[0]; }
TensorMap Bad(int64_t i, int64_t n) {
  TensorMap batch = Batch(i, n);
  batch.at("t").mutable_values<float>()[0] = 1000;  // times the scale, beyond f16
  return batch;
}

TEST(Trainer, LearnsAndReportsEveryStep) {
  std::vector<StepReport> log;
  std::vector<float> losses;
  TrainerOptions options{.threads = 1};
  options.log = [&](const StepReport& r) {
    log.push_back(r);
    losses.push_back(First(*r.fetches, "loss"));
  };
  ASSERT_OK_AND_ASSIGN(Trainer trainer, Trainer::Create(Regression(), options));
  for (int i = 0; i < 200; ++i) {
    ASSERT_OK_AND_ASSIGN(TensorMap out, trainer.Step(Batch(i, 8)));
    EXPECT_EQ(out.at("w").values<float>()[0], Of(trainer, "w")[0]);  // after the step
  }
  EXPECT_NEAR(Of(trainer, "w")[0], 3, 1e-2);
  EXPECT_NEAR(Of(trainer, "w")[1], -2, 1e-2);
  EXPECT_LT(losses.back(), losses.front() / 1000);
  ASSERT_EQ(log.size(), 200u);
  EXPECT_EQ(log[199].step, 199);
  ASSERT_EQ(log[0].scalers.size(), 1u);
  EXPECT_EQ(log[0].scalers[0].name, "loss_scaling_0");
  EXPECT_EQ(log[0].scalers[0].scale, 1024);
  EXPECT_EQ(trainer.steps(), 200);
  EXPECT_EQ(trainer.updates(), 200);
  EXPECT_GT(trainer.arena_bytes(), 0);
}

TEST(Trainer, TheReportSaysWhetherTheStepUpdated) {
  std::vector<bool> updated;
  TrainerOptions options{.threads = 1, .accumulate = 3};
  options.log = [&](const StepReport& r) { updated.push_back(r.updated); };
  ASSERT_OK_AND_ASSIGN(Trainer trainer, Trainer::Create(Regression(), options));
  for (int i = 0; i < 6; ++i) ASSERT_OK(trainer.Step(Batch(i, 8)));
  EXPECT_EQ(updated, (std::vector<bool>{false, false, true, false, false, true}));
}

TEST(Trainer, AnErrorOfTheBuilderComesThrough) {
  EXPECT_THAT(Trainer::Create(UsageError("no such layer")), StatusIs(ExitCode::kUsage, "no such layer"));
  EXPECT_THAT(Trainer::Create(Regression(), {.device = "cuda"}), StatusIs(ExitCode::kUnsupported, HasSubstr("'cuda:0'")));
  EXPECT_THAT(Trainer::Create(Regression(), {.accumulate = 0}), StatusIs(ExitCode::kUsage, HasSubstr("accumulate is 0")));
}

TEST(Trainer, MastersAreMadeOfUnroundedWeights) {
  ASSERT_OK_AND_ASSIGN(Trainer trainer, Trainer::Create(ParseTraining(R"(
feed  x : f16 [1]
param w : f16 [1]
state master : f32 [1]
y = elementwise_mul(w, x) : f16 [1]
master <- scale(master) bias=1.0
w <- cast(master) in_dtype=f32 out_dtype=f16
fetch y
)",
                                                                      R"(
param w : f32 [1]
state master : f32 [1]
master <- assign(w)
)",
                                                                      {{"w", F({1}, {1.0001f})}}),
                                                        {.threads = 1}));
  EXPECT_EQ(Of(trainer, "master")[0], 1.0001f);
  EXPECT_EQ(Of(trainer, "w")[0], 1.0f);
  EXPECT_EQ(trainer.scope().Find("w")->dtype, DType::kF16);
  ASSERT_OK_AND_ASSIGN(TensorMap out, trainer.Step({{"x", HostTensor::Of<Half>({1}, {Half(3.0f)})}}));
  EXPECT_EQ(static_cast<float>(out.at("y").values<Half>()[0]), 3.0f);
  EXPECT_EQ(Of(trainer, "master")[0], 1.0001f + 1.0f);
  EXPECT_EQ(Of(trainer, "w")[0], 2.0f);
}

TEST(Trainer, WhatNothingInitialises) {
  EXPECT_THAT(
      Trainer::Create(ParseTraining("state s : f32 [1]\ns <- scale(s) scale=2.0\n", "", {})),
      StatusIs(ExitCode::kBadInput, HasSubstr("reads state 's', to which neither a stored weight nor the startup program gives a value")));
  EXPECT_THAT(Trainer::Create(ParseTraining("param w : f32 [?]\nfetch w\n", "", {})),
              StatusIs(ExitCode::kBadInput, HasSubstr("needs known dims")));
  ASSERT_OK(Trainer::Create(ParseTraining("state s : f32 [1]\ns <- fill_constant() shape=[1l] value=2.0\n", "", {})));
}

constexpr char kTest[] = R"(
feed  x : f32 [?, 2]
param w : f32 [2]
w2 = reshape2(w) shape=[2, 1] : f32 [2, 1]
y = matmul_v2(x, w2) : f32 [?, 1]
fetch y
)";

absl::StatusOr<Program> Parse(absl::string_view text) { return testing::ParseBare(text); }

TEST(Trainer, ATestSeesTheWeightsOfTheMoment) {
  ASSERT_OK_AND_ASSIGN(Trainer trainer, Trainer::Create(Regression(), {.threads = 1}));
  EXPECT_THAT(trainer.Test({}), StatusIs(ExitCode::kUsage, HasSubstr("SetTestProgram")));
  ASSERT_OK_AND_ASSIGN(Program test, Parse(kTest));
  SetWeights(test, {{"w", F({2}, {100, 100})}});  // the scope's are meant
  ASSERT_OK(trainer.SetTestProgram(std::move(test)));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(TensorMap out, trainer.Test({{"x", F({1, 2}, {1, 0})}}));
    EXPECT_EQ(First(out, "y"), Of(trainer, "w")[0]);
    ASSERT_OK(trainer.Step(Batch(i, 4)));
  }
  Trainer moved = std::move(trainer);
  ASSERT_OK_AND_ASSIGN(TensorMap out, moved.Test({{"x", F({1, 2}, {0, 1})}}));
  EXPECT_EQ(First(out, "y"), Of(moved, "w")[1]);
}

TEST(Trainer, ATestProgramThatDoesNotFit) {
  ASSERT_OK_AND_ASSIGN(Trainer trainer, Trainer::Create(Regression(), {.threads = 1}));
  const auto set = [&trainer](absl::string_view text) { return trainer.SetTestProgram(*Parse(text)); };
  EXPECT_THAT(set("param w : f32 [2]\nw <- scale(w) scale=2.0\n"), StatusIs(ExitCode::kUsage, HasSubstr("overwrites param 'w'")));
  EXPECT_THAT(set("param v : f32 [2]\ny = scale(v) : f32 [2]\nfetch y\n"),
              StatusIs(ExitCode::kUsage, HasSubstr("'v' is not in the scope")));
  EXPECT_THAT(set("param w : f16 [2]\ny = scale(w) : f16 [2]\nfetch y\n"), StatusIs(ExitCode::kUsage, HasSubstr("needs f16 [2]")));
}

TEST(Trainer, AnOverflowIsCountedAndLowersTheScale) {
  ASSERT_OK_AND_ASSIGN(Trainer trainer, Trainer::Create(Regression(), {.threads = 1}));
  ASSERT_OK(trainer.Step(Batch(0, 4)));
  ASSERT_OK(trainer.Step(Bad(1, 4)));
  EXPECT_TRUE(trainer.scalers()[0].found_inf);
  EXPECT_EQ(trainer.scalers()[0].scale, 512);
  EXPECT_EQ(trainer.scalers()[0].skipped_in_a_row, 1);
  ASSERT_OK(trainer.Step(Batch(2, 4)));
  EXPECT_FALSE(trainer.scalers()[0].found_inf);
  EXPECT_EQ(trainer.scalers()[0].skipped, 1);
  EXPECT_EQ(trainer.scalers()[0].skipped_in_a_row, 0);
}

TEST(Accumulation, KSmallBatchesAreOneLarge) {
  ASSERT_OK_AND_ASSIGN(Trainer one, Trainer::Create(Regression(false), {.threads = 1}));
  ASSERT_OK_AND_ASSIGN(Trainer four, Trainer::Create(Regression(false), {.threads = 1, .accumulate = 4}));
  const float* where = four.scope().Find("w")->value.values<float>().data();
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(one.Step(Batch(i, 8)));
    const std::vector<float> before = Of(four, "w");
    for (int m = 0; m < 4; ++m) {
      EXPECT_EQ(Of(four, "w"), before);
      ASSERT_OK_AND_ASSIGN(TensorMap out, four.Step(Batch(4 * i + m, 2)));
      EXPECT_TRUE(std::isfinite(First(out, "loss")));
      EXPECT_EQ(First(out, "w"), Of(four, "w")[0]);
    }
    for (int k = 0; k < 2; ++k) EXPECT_NEAR(Of(one, "w")[k], Of(four, "w")[k], 4e-6) << "step " << i;
  }
  EXPECT_EQ(four.steps(), 80);
  EXPECT_EQ(four.updates(), 20);
  EXPECT_EQ(Count(four, "updates"), 20);
  EXPECT_EQ(Count(four, "forwards"), 80);
  EXPECT_EQ(four.scope().Find("w")->value.values<float>().data(), where);
}

TEST(Accumulation, AnOverflowDiscardsTheWindow) {
  for (int bad = 0; bad < 3; ++bad) {
    ASSERT_OK_AND_ASSIGN(Trainer trainer, Trainer::Create(Regression(), {.threads = 1, .accumulate = 3}));
    for (int m = 0; m < 3; ++m) ASSERT_OK(trainer.Step(m == bad ? Bad(m, 2) : Batch(m, 2)));
    EXPECT_EQ(Of(trainer, "w"), (std::vector<float>{1, -1}));
    EXPECT_TRUE(trainer.scalers()[0].found_inf);
    EXPECT_EQ(Of(trainer, "loss_scaling_0")[0], 512);
    EXPECT_EQ(Of(trainer, "g@SUM"), (std::vector<float>{0, 0}));
    for (int m = 0; m < 3; ++m) ASSERT_OK(trainer.Step(Batch(m, 2)));
    EXPECT_FALSE(trainer.scalers()[0].found_inf);
    EXPECT_NE(Of(trainer, "w"), (std::vector<float>{1, -1}));
  }
}

TEST(Accumulation, LowGradientsAreSummedInF32) {
  // 2048 + 1 + 1 is 2050; in f16 the ones would be lost.
  ASSERT_OK_AND_ASSIGN(Trainer trainer, Trainer::Create(ParseTraining(R"(
feed  x : f16 [1]
param w : f32 [1]
g = scale(x) op_role=1 : f16 [1]
h = cast(g) in_dtype=f16 op_role=2 out_dtype=f32 : f32 [1]
w <- elementwise_add(w, h) op_role=2
)",
                                                                      "", {{"w", F({1}, {0})}}),
                                                        {.threads = 1, .accumulate = 3}));
  for (float x : {2048.0f, 1.0f, 1.0f}) ASSERT_OK(trainer.Step({{"x", HostTensor::Of<Half>({1}, {Half(x)})}}));
  EXPECT_EQ(Of(trainer, "w")[0], static_cast<float>(Half(2050.0f * (1.0f / 3))));
}

TEST(Accumulation, WhatCannotBeSplit) {
  EXPECT_THAT(Trainer::Create(ParseTraining("feed x : f32 [1]\nparam w : f32 [1]\nw <- elementwise_add(w, x)\n", "", {{"w", F({1}, {0})}}),
                              {.accumulate = 2}),
              StatusIs(ExitCode::kUsage, HasSubstr("op_role Optimize")));
  EXPECT_THAT(
      Trainer::Create(
          ParseTraining("feed x : f32 [1]\nparam w : f32 [1]\ny = scale(x) scale=2.0 : f32 [1]\nw <- elementwise_add(w, y) op_role=2\n", "",
                        {{"w", F({1}, {0})}}),
          {.accumulate = 2}),
      StatusIs(ExitCode::kUnsupported, HasSubstr("reads 'y' (f32 [1]), a result of 3: op 'scale'")));
}

constexpr char kNormalised[] = R"(
feed  x : f32 [?, 1, 1, 2]
param scale : f32 [1]
param bias : f32 [1]
state mean : f32 [1]
state variance : f32 [1]
state loss_scaling_0 : f32 [1]
batch_norm(X=x, Scale=scale, Bias=bias, Mean=mean, Variance=variance) -> Y=y, MeanOut<-mean, VarianceOut<-variance momentum=0.5 : f32 [?, 1, 1, 2]
big = scale(y) scale=1e+30 : f32 [?, 1, 1, 2]
g = elementwise_mul(big, big) op_role=1 : f32 [?, 1, 1, 2]
m = reduce_mean(g) dim=[0, 1, 2, 3] keep_dim=true op_role=1 : f32 [1, 1, 1, 1]
r = reshape2(m) op_role=1 shape=[1] : f32 [1]
check_finite_and_unscale(X=[r], Scale=loss_scaling_0) -> Out=[u], FoundInfinite=found op_role=2 : f32 [1], bool [1]
fetch y
)";

absl::StatusOr<TrainingProgram> Normalised() {
  return ParseTraining(
      kNormalised, "",
      {{"scale", F({1}, {1})}, {"bias", F({1}, {0})}, {"mean", F({1}, {0})}, {"variance", F({1}, {1})}, {"loss_scaling_0", F({1}, {8})}});
}

TEST(Trainer, StatisticsOfASkippedStepArePutBack) {
  for (const bool keep : {false, true}) {  // as Paddle does: they were written before anyone knew of the overflow
    ASSERT_OK_AND_ASSIGN(Trainer trainer, Trainer::Create(Normalised(), {.threads = 1, .keep_skipped_statistics = keep}));
    ASSERT_OK(trainer.Step({{"x", F({1, 1, 1, 2}, {2, 4})}}));
    EXPECT_TRUE(trainer.scalers()[0].found_inf);
    EXPECT_EQ(trainer.scalers()[0].scale, 8);  // fixed
    EXPECT_EQ(Of(trainer, "mean"), (std::vector<float>{keep ? 1.5f : 0.0f}));
  }
}

TEST(Debugging, TheFirstResultThatIsNotFinite) {
  TrainerOptions options{.threads = 1, .check_nan_inf = true};
  ASSERT_OK_AND_ASSIGN(Trainer trainer, Trainer::Create(Normalised(), options));
  EXPECT_THAT(trainer.Step({{"x", F({1, 1, 1, 2}, {2, 4})}}),
              StatusIs(ExitCode::kNo, HasSubstr("training step 1: 10: op 'elementwise_mul' -> 'g': result 'g' (f32 [1, 1, 1, 2]) has 0 NaN "
                                                "and 2 infinite values of 2, the first at element 0")));
}

TEST(Debugging, TheAlarmNamesTheOpAndChangesNothing) {
  std::vector<std::string> alarms;
  TrainerOptions options{.threads = 1, .alarm_after = 3};
  options.log = [&](const StepReport& r) { alarms.push_back(r.alarm); };
  ASSERT_OK_AND_ASSIGN(Trainer watched, Trainer::Create(Regression(), options));
  ASSERT_OK_AND_ASSIGN(Trainer plain, Trainer::Create(Regression(), {.threads = 1}));
  for (int i = 0; i < 8; ++i) {
    TensorMap batch = Batch(i, 4);
    if (i > 0) batch.at("t").mutable_values<float>()[0] = kInf;
    ASSERT_OK(watched.Step(batch));
    ASSERT_OK(plain.Step(batch));
    EXPECT_EQ(alarms.back().empty(), i != 3 && i != 6) << i << ": " << alarms.back();
    for (const auto& [name, variable] : plain.scope().variables()) EXPECT_TRUE(variable.value == watched.scope().Find(name)->value) << name;
  }
  EXPECT_THAT(alarms[3], HasSubstr("3 steps in a row were skipped; "));
  EXPECT_THAT(alarms[3], HasSubstr("op 'elementwise_sub' -> 'd'"));
  EXPECT_THAT(alarms[3], HasSubstr("has 0 NaN and 1 infinite values of 4, the first at element 0"));
  EXPECT_THAT(alarms[6], HasSubstr("6 steps in a row"));
}

}  // namespace
}  // namespace ampc
