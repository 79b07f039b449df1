// The forward part of training programs, rewritten and with its loss scaled, against what three Paddle releases made of it.
#include <ostream>
#include <string>

#include "absl/strings/str_split.h"
#include "graph/formats/format.h"
#include "gtest/gtest.h"
#include "passes/amp/training/loss_scaling.h"
#include "runtime/train/amp_rewrite.h"
#include "tests/compat/compare.h"
#include "tests/compat/training_cases.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc::testing {

void PrintTo(const TrainingCase& c, std::ostream* out) { *out << c.name; }

namespace {

class TrainingForward : public ::testing::TestWithParam<TrainingCase> {
 protected:
  TempFolder folder_;
};

// Paddle declares the state of the learning rate together with those of the loss scaling, ours comes with the optimizer.
void DropLearningRate(paddle::ProgramDesc& program) {
  auto& vars = *program.mutable_blocks(0)->mutable_vars();
  for (int i = vars.size() - 1; i >= 0; --i) {
    if (vars[i].name() == "learning_rate_0") vars.DeleteSubrange(i, 1);
  }
}

TEST_P(TrainingForward, IsReproduced) {
  const TrainingCase& c = GetParam();
  absl::StatusOr<Program> program = LoadTrainingProgram(c["in"], folder_.path());
  ASSERT_OK(program);
  Program startup("startup");
  Var* loss = program->main().FindVar(c["loss"]);
  ASSERT_NE(loss, nullptr);
  const amp::DecorateOptions options = c.Options();
  const absl::StatusOr<amp::AmpSettings> settings = amp::Resolve(options);
  ASSERT_OK(settings);
  ASSERT_OK(amp::RewriteForTraining(*program, options, *settings));
  const absl::StatusOr<LossScaler> scaler = AddLossScaler(*program, startup, settings->scaling);
  ASSERT_OK(scaler);
  ASSERT_OK(ScaleLoss(*program, *loss, *scaler));
  ASSERT_OK(SaveModel(*program, folder_ / "out.pdmodel", {.no_sync = true, .program_only = true}));

  const absl::StatusOr<paddle::ProgramDesc> ours = ReadPaddleProgram(folder_ / "out.pdmodel");
  ASSERT_OK(ours);
  paddle::ProgramDesc theirs;
  ASSERT_TRUE(theirs.ParseFromString(TrainingProgramBytes(c["forward"])));
  DropLearningRate(theirs);
  EXPECT_EQ(CompareRewrites(*ours, theirs, absl::StrSplit(c["fetch"], ',')), "");
}

INSTANTIATE_TEST_SUITE_P(Golden, TrainingForward, ::testing::ValuesIn(ReadTrainingCases()),
                         [](const ::testing::TestParamInfo<TrainingCase>& info) {
                           std::string name = info.param.name;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

TEST(TrainingData, IsThere) { EXPECT_EQ(ReadTrainingCases().size(), 89u); }

}  // namespace
}  // namespace ampc::testing
