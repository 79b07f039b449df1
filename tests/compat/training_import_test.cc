// The real Paddle's training programs, read: every gradient op finds its record, and what is written is what was read.
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
#include "gtest/gtest.h"
#include "tests/compat/training_cases.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc::testing {

void PrintTo(const TrainingCase& c, std::ostream* out) { *out << c.name; }

namespace {

class TrainingImportTest : public ::testing::TestWithParam<TrainingCase> {
 protected:
  TempFolder folder_;
};

TEST_P(TrainingImportTest, KnowsEveryGradientOp) {
  ASSERT_OK_AND_ASSIGN(const Program program, LoadTrainingProgram(GetParam()["out"], folder_.path()));
  EXPECT_OK(Verify(program));
  int gradients = 0;
  ForEachOp(program, [&gradients](const Op& op) {
    if (!absl::EndsWith(op.type(), "_grad")) return;
    ++gradients;
    EXPECT_FALSE(op.def().opaque) << Describe(op);
  });
  EXPECT_GT(gradients, 0);
}

TEST_P(TrainingImportTest, IsWrittenAsItWasRead) {
  ASSERT_OK_AND_ASSIGN(const Program program, LoadTrainingProgram(GetParam()["out"], folder_.path()));
  ASSERT_OK(SaveModel(program, folder_ / "again.pdmodel", {.no_sync = true, .program_only = true}));
  std::ifstream in(folder_ / "again.pdmodel");
  std::stringstream again;
  again << in.rdbuf();
  EXPECT_TRUE(again.str() == TrainingProgramBytes(GetParam()["out"])) << again.str().size() << " bytes";
}

INSTANTIATE_TEST_SUITE_P(Golden, TrainingImportTest, ::testing::ValuesIn(ReadTrainingCases()),
                         [](const ::testing::TestParamInfo<TrainingCase>& info) {
                           std::string name = info.param.name;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace ampc::testing
