// `ampc convert --compat` against what three Paddle releases made of the same programs.
#include <fstream>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/compat/compare.h"
#include "tests/e2e/process.h"
#include "tests/formats/test_files.h"

namespace ampc::testing {
namespace {

constexpr char kData[] = "tests/golden/paddle_rewrite/";

struct RewriteCase {
  std::string name, input, options;
  std::vector<std::string> fetches;
  std::string status;  // of the release's own program: same, broken, raises
};

std::vector<RewriteCase> ReadCases() {
  std::vector<RewriteCase> out;
  std::ifstream file(absl::StrCat(kData, "cases.txt"));
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> f = absl::StrSplit(line, '\t');
    out.push_back({f.at(0), f.at(1), f.at(2), absl::StrSplit(f.at(3), ','), f.at(4)});
  }
  return out;
}

std::string Input(const RewriteCase& c) { return std::filesystem::absolute(absl::StrCat(kData, c.input, ".pdmodel")).string(); }

void PrintTo(const RewriteCase& c, std::ostream* out) { *out << c.name << " " << c.options; }

class PaddleRewrite : public ::testing::TestWithParam<RewriteCase> {
 protected:
  Outcome Ampc(std::vector<std::string> args) const { return RunProcess("tools/ampc", args, folder_.path()); }
  Outcome Convert() const {
    std::vector<std::string> args = {"convert", Input(GetParam()), "-o", "out.pdmodel", "--program-only", "--no-sync"};
    for (const std::string& arg : std::vector<std::string>(absl::StrSplit(GetParam().options, ' '))) args.push_back(arg);
    return Ampc(args);
  }

  TempFolder folder_;
};

// The program of the release, if it made a valid one.
TEST_P(PaddleRewrite, IsReproduced) {
  const Outcome outcome = Convert();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  if (GetParam().status == "raises") return;
  const absl::StatusOr<paddle::ProgramDesc> ours = ReadPaddleProgram(folder_ / "out.pdmodel");
  ASSERT_TRUE(ours.ok()) << ours.status().message();
  const absl::StatusOr<paddle::ProgramDesc> theirs = ReadPaddleProgram(absl::StrCat(kData, GetParam().name, ".pdmodel"));
  ASSERT_TRUE(theirs.ok()) << theirs.status().message();
  const std::string difference = CompareRewrites(*ours, *theirs, GetParam().fetches);
  if (GetParam().status == "same") {
    EXPECT_EQ(difference, "");
  } else {
    EXPECT_NE(difference, "") << "the release's program computes something else than its input, ours must not be the same";
  }
}

// Without the casts and types of the mode, the program is the one it was made of, and it is well formed.
TEST_P(PaddleRewrite, IsTakenBack) {
  ASSERT_EQ(Convert().code, 0);
  const Outcome verified = Ampc({"verify", "out.pdmodel", "--program-only"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  const Outcome stripped = Ampc({"strip", "out.pdmodel", "-o", "back.pdmodel", "--program-only", "--no-sync"});
  ASSERT_EQ(stripped.code, 0) << stripped.err;
  EXPECT_TRUE(ReadFile(folder_ / "back.pdmodel") == ReadFile(Input(GetParam()))) << "stripping gives another program";
}

INSTANTIATE_TEST_SUITE_P(Golden, PaddleRewrite, ::testing::ValuesIn(ReadCases()), [](const ::testing::TestParamInfo<RewriteCase>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
});

TEST(PaddleRewriteData, IsThere) {
  std::map<std::string, int> count;
  for (const RewriteCase& c : ReadCases()) ++count[c.status];
  EXPECT_EQ(count, (std::map<std::string, int>{{"broken", 68}, {"raises", 1}, {"same", 176}}));
}

}  // namespace
}  // namespace ampc::testing
