// Schedules against PaddlePaddle 2.6.2, and the op that steps them.
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "graph/base/error.h"
#include "graph/base/json_reader.h"
#include "passes/train/learning_rate.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<JsonValue> ReadGolden() {
  std::ifstream file("tests/golden/paddle_numerics/learning_rates.json");
  std::stringstream text;
  text << file.rdbuf();
  return ParseJson(text.str());
}

// Paddle computes a cosine from the rate before, which adds up its roundings.
TEST(LearningRate, IsPaddles) {
  ASSERT_OK_AND_ASSIGN(const JsonValue golden, ReadGolden());
  ASSERT_EQ(golden.Find("traces")->items.size(), 6u);
  for (const JsonValue& trace : golden.Find("traces")->items) {
    ASSERT_OK_AND_ASSIGN(const LearningRate rate, LearningRate::Parse(trace.Find("rate")->text));
    int64_t step = 0;
    for (const JsonValue& want : trace.Find("values")->items) {
      EXPECT_NEAR(rate.rule().At(step), *want.AsDouble(), 1e-12) << trace.Find("rate")->text << " step " << step;
      ++step;
    }
  }
}

TEST(LearningRate, ParsesWhatItIsBuiltOf) {
  const auto same = [](const LearningRate& a, const LearningRate& b) {
    for (const int64_t step : {0, 1, 2, 5, 9, 10, 11, 500}) {
      if (a.rule().At(step) != b.rule().At(step)) return false;
    }
    return true;
  };
  ASSERT_OK_AND_ASSIGN(const LearningRate constant, LearningRate::Parse("0.25"));
  EXPECT_TRUE(same(constant, 0.25));
  EXPECT_TRUE(constant.rule().IsConstant());
  ASSERT_OK_AND_ASSIGN(const LearningRate pieces, LearningRate::Parse("piecewise:2,10:3,2,1+warmup:4,0,3"));
  EXPECT_TRUE(same(pieces, LearningRate::Piecewise({2, 10}, {3, 2, 1}).WarmUp(4, 0, 3)));
  EXPECT_FALSE(same(pieces, LearningRate::Piecewise({2, 10}, {3, 2, 1})));
}

TEST(LearningRate, ErrorsSayWhatIsNeeded) {
  for (const auto& [text, want] : std::vector<std::pair<const char*, const char*>>{
           {"fast", "learning rate 'fast': found 'fast', needs a number, piecewise:... or cosine:..."},
           {"linear:1,2", "found 'linear:1,2', needs a number, piecewise:... or cosine:..."},
           {"cosine:0.1", "learning rate 'cosine:0.1': cosine needs a rate and steps, as in cosine:0.1,10000"},
           {"cosine:0.1,0", "cosine learning rate: steps is 0, needs to be positive"},
           {"cosine:0.1,2.5", "learning rate 'cosine:0.1,2.5': found 2.5 steps, needs a count"},
           {"cosine:0.1,nan", "found nan steps, needs a count"},
           {"piecewise:0,5:1,2,3", "piecewise learning rate: boundary 0 is not positive, needs positive steps in rising order"},
           {"piecewise:-3:1,2", "boundary -3 is not positive"},
           {"piecewise:5,5:1,2,3", "piecewise learning rate: boundary 5 does not rise, needs positive steps in rising order"},
           {"piecewise:5:1,2,3", "piecewise learning rate: 3 values for 1 boundaries, needs one value more than boundaries"},
           {"piecewise:5:1,x", "learning rate 'piecewise:5:1,x': found 'x', needs a number"},
           {"-1", "learning rate -1 needs to be finite and not below 0"},
           {"nan", "learning rate nan needs to be finite and not below 0"},
           {"1+warmup:5", "warm-up needs steps, the first rate and the last, as in +warmup:500,0,0.1"},
       }) {
    EXPECT_THAT(LearningRate::Parse(text), StatusIs(ExitCode::kUsage, HasSubstr(want)));
  }
}

struct Scheduled {
  float rate;
  int64_t step;
};

absl::StatusOr<Scheduled> RunSchedule(const LearningRate& rate, Scheduled before, bool skip) {
  OpRun run("lr_schedule");
  run.In("LearningRate", F32({1}, {before.rate})).In("Step", I64({1}, {before.step})).In("SkipUpdate", Of({1}, std::vector<bool>{skip}));
  for (Attr& attr : LearningRateAttrs(rate.rule())) run.Attr(attr.name, attr.value);
  absl::StatusOr<std::vector<Tensor>> out = run.Out("LearningRateOut").Out("StepOut").Run();
  if (!out.ok()) return out.status();
  return Scheduled{(*out)[0].floats()[0], (*out)[1].As<int64_t>()[0]};
}

TEST(LrSchedule, StepsAndSkips) {
  const LearningRate rate = LearningRate::Cosine(0.1, 8, 0.01).WarmUp(3, 0, 0.1);
  Scheduled at{static_cast<float>(rate.rule().At(0)), 0};
  for (int64_t step = 1; step < 15; ++step) {
    ASSERT_OK_AND_ASSIGN(const Scheduled kept, RunSchedule(rate, at, true));
    EXPECT_EQ(kept.rate, at.rate);
    EXPECT_EQ(kept.step, at.step);
    ASSERT_OK_AND_ASSIGN(at, RunSchedule(rate, at, false));
    EXPECT_EQ(at.step, step);
    EXPECT_EQ(at.rate, static_cast<float>(rate.rule().At(step)));
  }
  // A skipped step keeps a rate that was set by hand, too.
  ASSERT_OK_AND_ASSIGN(const Scheduled kept, RunSchedule(rate, {0.7f, 4}, true));
  EXPECT_EQ(kept.rate, 0.7f);
}

}  // namespace
}  // namespace ampc::testing
