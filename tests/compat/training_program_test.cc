// Complete training programs, as Decorate and Minimize make them, against those of three Paddle releases.
#include <ostream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "graph/formats/format.h"
#include "gtest/gtest.h"
#include "runtime/train/decorate.h"
#include "tests/compat/compare.h"
#include "tests/compat/compare_training.h"
#include "tests/compat/training_cases.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc::testing {

void PrintTo(const TrainingCase& c, std::ostream* out) { *out << c.name; }

namespace {

Optimizer OptimizerOf(const TrainingCase& c) {
  CommonOptimizerOptions o;
  double number = 0;
  if (absl::SimpleAtod(c["lr"], &number)) o.lr = number;
  o.multi_precision = c.Is("multi_precision");
  if (absl::SimpleAtod(c["weight_decay"], &number)) o.weight_decay = number;
  if (absl::SimpleAtod(c["clip"], &number)) o.clip = GradientClip::GlobalNorm(number);
  return *OptimizerFromName(c["optimizer"], o);
}

paddle::ProgramDesc Parsed(const std::string& bytes) {
  paddle::ProgramDesc out;
  EXPECT_TRUE(out.ParseFromString(bytes));
  return out;
}

class TrainingProgramTest : public ::testing::TestWithParam<TrainingCase> {
 protected:
  TempFolder folder_;
};

TEST_P(TrainingProgramTest, IsReproduced) {
  const TrainingCase& c = GetParam();
  absl::StatusOr<Program> program = LoadTrainingProgram(c["in"], folder_.path());
  ASSERT_OK(program);
  Program startup("startup");
  if (c.fields.contains("startup_in")) {
    absl::StatusOr<Program> loaded = LoadTrainingProgram(c["startup_in"], folder_.path());
    ASSERT_OK(loaded);
    startup = *std::move(loaded);
  }
  const auto optimizer = amp::Decorate(OptimizerOf(c), c.Options());
  const BackwardOptions wanted = {.wanted = absl::StrSplit(c["params"], ','), .no_grad = {}};
  ASSERT_OK(optimizer->Minimize(*program, startup, *program->main().FindVar(c["loss"]), wanted));
  ASSERT_OK(SaveModel(*program, folder_ / "out.pdmodel", {.no_sync = true, .program_only = true}));
  ASSERT_OK(SaveModel(startup, folder_ / "startup.pdmodel", {.no_sync = true, .program_only = true}));

  EXPECT_EQ(CompareTraining(*ReadPaddleProgram(folder_ / "out.pdmodel"), Parsed(TrainingProgramBytes(c["out"]))), "");
  if (!c.fields.contains("startup_out")) return;
  EXPECT_EQ(CompareStartup(*ReadPaddleProgram(folder_ / "startup.pdmodel"), Parsed(TrainingProgramBytes(c["startup_out"]))), "");
}

INSTANTIATE_TEST_SUITE_P(Golden, TrainingProgramTest, ::testing::ValuesIn(ReadTrainingCases()),
                         [](const ::testing::TestParamInfo<TrainingCase>& info) {
                           std::string name = info.param.name;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace ampc::testing
