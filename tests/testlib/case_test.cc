// Case files and the runner: what they accept, and that a wrong expectation fails.
#include <gtest/gtest.h>

#include <string>

#include "tests/testlib/case_file.h"
#include "tests/testlib/run_case.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kFile[] =
    "# comment\n"
    "\n"
    "=== removes what nobody reads\n"
    "run: drop-dead\n"
    "context: target=cpu\n"
    "--- in\n"
    "feed x : f32 [4]\n"
    "y = relu(x) : f32 [4]\n"
    "\n"
    "fetch x\n"
    "--- out\n"
    "feed x : f32 [4]\n"
    "fetch x\n"
    "\n"
    "=== keeps what is fetched\n"
    "run: drop-dead\n"
    "--- in\n"
    "feed x : f32 [4]\n"
    "fetch x\n"
    "--- unchanged\n";

TEST(ParseCases, ReadsTitlesOptionsAndSections) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Case> cases, ParseCases(kFile));
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].title, "removes what nobody reads");
  EXPECT_EQ(cases[0].name, "removes_what_nobody_reads");
  EXPECT_EQ(cases[0].line, 3);
  EXPECT_EQ(cases[0].run, "drop-dead");
  EXPECT_EQ(cases[0].context.at("target"), "cpu");
  EXPECT_EQ(cases[0].in, "feed x : f32 [4]\ny = relu(x) : f32 [4]\n\nfetch x");
  EXPECT_EQ(cases[0].expected, "feed x : f32 [4]\nfetch x");
  EXPECT_EQ(cases[1].expect, Expect::kUnchanged);
  EXPECT_EQ(cases[1].expected, "");
}

TEST(ParseCases, ReplacesOneExpectation) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Case> cases, ParseCases(kFile));
  const std::string updated = WithExpected(kFile, cases[0], "one\ntwo\nthree");
  ASSERT_OK_AND_ASSIGN(const std::vector<Case> again, ParseCases(updated));
  EXPECT_EQ(again[0].expected, "one\ntwo\nthree");
  EXPECT_EQ(WithExpected(updated, again[0], cases[0].expected), kFile);
}

TEST(ParseCases, SaysWhatIsMissing) {
  EXPECT_THAT(ParseCases(""), StatusIs(ExitCode::kUsage, HasSubstr("found no case")));
  EXPECT_THAT(ParseCases("run: x"), StatusIs(ExitCode::kUsage, "1: found 'run: x', needed '=== title' or a comment"));
  EXPECT_THAT(ParseCases("=== a\n--- in\n"), StatusIs(ExitCode::kUsage, "2: found '--- in', needed 'run: ' and what to run"));
  EXPECT_THAT(ParseCases("=== a\nrun: x\nrum: y\n"), StatusIs(ExitCode::kUsage, HasSubstr("3: found 'rum: y'")));
  EXPECT_THAT(ParseCases("=== a\nrun: x\n--- in\nfeed\n"),
              StatusIs(ExitCode::kUsage, HasSubstr("found the end of the file, needed one of --- out")));
  EXPECT_THAT(ParseCases("=== a\nrun: x\n--- in\n--- outt\n"), StatusIs(ExitCode::kUsage, HasSubstr("4: found '--- outt'")));
  EXPECT_THAT(ParseCases("=== a\nrun: x\n--- in\n--- unchanged\n--- out\n"), StatusIs(ExitCode::kUsage, HasSubstr("one expectation")));
  EXPECT_THAT(ParseCases("=== a\nrun: x\n--- in\n--- unchanged\n=== a\nrun: x\n--- in\n--- unchanged\n"),
              StatusIs(ExitCode::kUsage, "5: found the case 'a' twice, needed a title of its own"));
}

Case Make(const std::string& run, const std::string& in, Expect expect, const std::string& expected) {
  Case c;
  c.run = run;
  c.in = in;
  c.expect = expect;
  c.expected = expected;
  return c;
}

constexpr char kDead[] = "feed x : f32 [4]\ny = relu(x) : f32 [4]\nfetch x";
constexpr char kLive[] = "feed x : f32 [4]\nfetch x";

TEST(RunCase, HoldsOnlyWithTheRightExpectation) {
  EXPECT_OK(RunCase(Make("drop-dead", kDead, Expect::kOut, kLive)).status);
  const CaseResult wrong = RunCase(Make("drop-dead", kDead, Expect::kOut, kDead));
  EXPECT_THAT(wrong.status, StatusIs(ExitCode::kNo, HasSubstr("found\n" + std::string(kLive) + "\nneeded")));
  EXPECT_EQ(wrong.actual, kLive);
  EXPECT_OK(RunCase(Make("drop-dead", kLive, Expect::kUnchanged, "")).status);
  EXPECT_THAT(RunCase(Make("drop-dead", kDead, Expect::kUnchanged, "")).status, StatusIs(ExitCode::kNo, HasSubstr("found a change")));
  EXPECT_OK(RunCase(Make("drop-dead", kDead, Expect::kCheck, "CHECK-NOT: relu")).status);
  EXPECT_THAT(RunCase(Make("drop-dead", kDead, Expect::kCheck, "CHECK: relu")).status, StatusIs(ExitCode::kNo, HasSubstr("needed 'relu'")));
}

TEST(RunCase, ErrorsAreComparedWhole) {
  const std::string message = "2: op 'relu': found the operand 'z', needed a name that is declared or defined above";
  const std::string in = "feed x : f32 [4]\ny = relu(z) : f32 [4]";
  EXPECT_OK(RunCase(Make("verify", in, Expect::kError, message)).status);
  EXPECT_THAT(RunCase(Make("verify", in, Expect::kError, "operand 'z'")).status, StatusIs(ExitCode::kNo, HasSubstr(message)));
  EXPECT_THAT(RunCase(Make("verify", kLive, Expect::kError, message)).status, StatusIs(ExitCode::kNo, HasSubstr("found no error")));
  EXPECT_FALSE(RunCase(Make("verify", in, Expect::kOut, in)).status.ok());
}

TEST(RunCase, WrongCasesSayWhy) {
  EXPECT_THAT(RunCase(Make("no-such-pass", kLive, Expect::kOut, kLive)).status, StatusIs(ExitCode::kUsage, HasSubstr("no-such-pass")));
  Case c = Make("print", kLive, Expect::kOut, kLive);
  c.context["tarket"] = "cpu";
  EXPECT_THAT(RunCase(c).status, StatusIs(ExitCode::kUsage, HasSubstr("found 'tarket'")));
  c.context = {{"target", "abacus"}};
  c.run = "drop-dead";
  EXPECT_FALSE(RunCase(c).status.ok());
}

}  // namespace
}  // namespace ampc::testing
