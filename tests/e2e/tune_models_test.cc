// Tune on real and golden models: a budget that the fastest assignment misses is reached, and the runs that it takes beside those of a
// bisection op by op.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/made_feeds.h"
#include "runtime/tune/trials.h"
#include "runtime/tune/tune.h"
#include "runtime/tune/tuned_model.h"
#include "tests/e2e/real_models.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

namespace fs = std::filesystem;

struct TuneCase {
  std::string name;
  DType dtype = DType::kF16;
  friend std::ostream& operator<<(std::ostream& out, const TuneCase& c) { return out << c.name << " " << Name(c.dtype); }
};

// With inputs that are made up, the same for tune and for the bisection.
struct Bisection {
  const TunedModel& model;
  const Trials& trials;
  double budget;
  int most;  // runs, after which it gives up
  int runs = 0;

  bool Good(const Assignment& low) {
    ++runs;
    const absl::StatusOr<Trial> trial = trials.Run(low, {0});
    EXPECT_TRUE(trial.ok()) << trial.status().message();
    return trial.ok() && trial->error <= budget;
  }

  // The first `count` candidates, but those that are kept.
  Assignment First(size_t count) const {
    Assignment low = model.Fp32();
    for (size_t i = 0; i < count; ++i) low[model.candidates()[i]->id()] = !kept[i];
    return low;
  }

  std::vector<bool> kept = std::vector<bool>(model.candidates().size(), false);

  // Keeps one op after the other that is the first to break the budget, until the rest is good. True if it got there.
  bool Run() {
    const size_t all = model.candidates().size();
    while (runs < most && !Good(First(all))) {
      size_t good = 0, bad = all;
      while (bad - good > 1 && runs < most) {
        const size_t middle = (good + bad) / 2;
        (Good(First(middle)) ? good : bad) = middle;
      }
      kept[bad - 1] = true;
    }
    return runs < most;
  }
};

class TuneModelsTest : public ::testing::TestWithParam<TuneCase> {
 protected:
  static std::string PathOf(const std::string& name) {
    const std::string golden = "tests/golden/models/" + name + ".pdmodel";
    return fs::exists(golden) ? golden : OriginalPath(name);
  }
};

TEST_P(TuneModelsTest, ReachesABudgetWithNoMoreRunsThanBisection) {
  const std::string path = PathOf(GetParam().name);
  if (!fs::exists(path)) GTEST_SKIP() << "no model at '" << path << "'; AMPC_MODELS names the folder that has them";
  TuneOptions options;
  options.convert.model = path;
  options.convert.dtype = GetParam().dtype;
  options.goal = "flops";
  options.made = 1;
  options.budget = 1e9;
  ASSERT_OK_AND_ASSIGN(const TuneResult all, Tune(options));
  ASSERT_TRUE(all.chosen.has_value());
  options.budget = 0.5 * all.points[*all.chosen].error;
  ASSERT_OK_AND_ASSIGN(const TuneResult tuned, Tune(options));
  ASSERT_TRUE(tuned.chosen.has_value()) << "half of the error is out of reach";
  const TunePoint& chosen = tuned.points[*tuned.chosen];
  EXPECT_LE(chosen.error, *options.budget);
  EXPECT_GT(chosen.low_flops, 0);
  EXPECT_LT(tuned.seconds, 180);

  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<TunedModel> model, TunedModel::Load(options.convert));
  ASSERT_OK_AND_ASSIGN(MadeFeeds made, MakeFeeds(model->program()));
  std::vector<TensorMap> inputs;
  inputs.push_back(std::move(made.feeds));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Trials> trials, Trials::Create(*model, std::move(inputs), 0));
  Bisection bisection{*model, *trials, *options.budget, 2 * tuned.evaluations};
  const bool reached = bisection.Run();
  std::printf("%-12s %s  budget %.3g: %5.1f %% of flops low, error %.3g; %d runs (%.1f whole), %.1f s; bisection by op %s%d runs\n",
              GetParam().name.c_str(), DTypeWord(GetParam().dtype), *options.budget, 100 * chosen.low_flops, chosen.error,
              tuned.evaluations, tuned.whole_runs, tuned.seconds, reached ? "" : "more than ", bisection.runs);
  EXPECT_LE(tuned.whole_runs, 1.25 * bisection.runs) << "a bisection is at its best where one op is to blame: tune is as good then";
}

std::vector<TuneCase> Cases() {
  std::vector<TuneCase> cases;
  for (const char* name : {"encoder", "recogniser", "cls", "magika"}) {
    for (const DType dtype : {DType::kF16, DType::kBF16}) cases.push_back({name, dtype});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, TuneModelsTest, ::testing::ValuesIn(Cases()));

}  // namespace
}  // namespace ampc::testing
