#include "tests/testlib/match.h"

#include <gtest/gtest.h>

#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] =
    "feed x : f32 [4]\n"
    "x.f16 = cast(x) out_dtype=f16\n"
    "a = matmul_v2(x.f16, x.f16)\n"
    "b = matmul_v2(x.f16, a)\n"
    "fetch b";

TEST(MatchChecks, FindsLinesInOrder) {
  EXPECT_OK(MatchChecks("CHECK: feed x\nCHECK: fetch", kText));
  EXPECT_THAT(MatchChecks("CHECK: fetch\nCHECK: feed x", kText), StatusIs(ExitCode::kNo, HasSubstr("check line 2: needed 'feed x'")));
  EXPECT_OK(MatchChecks("CHECK: a   =\tmatmul_v2", kText));
}

TEST(MatchChecks, TwoMatchesMayShareALine) {
  EXPECT_OK(MatchChecks("CHECK: cast(x)\nCHECK: f16", kText));
  EXPECT_THAT(MatchChecks("CHECK: fetch b\nCHECK: fetch", kText), StatusIs(ExitCode::kNo, HasSubstr("check line 2")));
}

TEST(MatchChecks, NextIsTheNextLine) {
  EXPECT_OK(MatchChecks("CHECK: feed\nCHECK-NEXT: cast", kText));
  EXPECT_THAT(MatchChecks("CHECK: feed\nCHECK-NEXT: matmul_v2", kText), StatusIs(ExitCode::kNo, HasSubstr("in the next line")));
  EXPECT_OK(MatchChecks("CHECK-NEXT: feed", kText));
}

TEST(MatchChecks, SameIsTheSameLine) {
  EXPECT_OK(MatchChecks("CHECK: cast(x)\nCHECK-SAME: f16", kText));
  EXPECT_FALSE(MatchChecks("CHECK: cast(x)\nCHECK-SAME: x.f16", kText).ok());  // stands in front of the match
  EXPECT_FALSE(MatchChecks("CHECK: cast(x)\nCHECK-SAME: matmul", kText).ok());
}

TEST(MatchChecks, NotLooksBetweenItsNeighbours) {
  EXPECT_OK(MatchChecks("CHECK: cast(x)\nCHECK-NOT: cast\nCHECK: fetch", kText));
  EXPECT_THAT(MatchChecks("CHECK: feed\nCHECK-NOT: cast\nCHECK: fetch", kText),
              StatusIs(ExitCode::kNo, "check line 2: found 'x.f16 = cast(x) out_dtype=f16', needed no 'cast' there"));
  EXPECT_OK(MatchChecks("CHECK: feed\nCHECK-NOT: fetch\nCHECK: b = matmul", kText));
  EXPECT_FALSE(MatchChecks("CHECK: feed\nCHECK-NOT: fetch", kText).ok());  // up to the end
  EXPECT_FALSE(MatchChecks("CHECK-NOT: feed\nCHECK: fetch", kText).ok());  // from the beginning
}

TEST(MatchChecks, NamesAreBoundOnce) {
  EXPECT_OK(MatchChecks("CHECK: [[L]] = cast(x)\nCHECK: [[A]] = matmul_v2([[L]], [[L]])\nCHECK: matmul_v2([[L]], [[A]])", kText));
  EXPECT_THAT(MatchChecks("CHECK: [[L]] = cast(x)\nCHECK: b = matmul_v2([[L]], [[L]])", kText),
              StatusIs(ExitCode::kNo, HasSubstr("with L=x.f16")));
  // A name is whole: `16` is not the end of `x.f16`.
  EXPECT_FALSE(MatchChecks("CHECK: [[N]]16 = cast", "x.f16 = cast(x)").ok());
  EXPECT_OK(MatchChecks("CHECK: relu([[Q]])\nCHECK: fetch [[Q]]", "y = relu(\"a b\")\nfetch \"a b\""));
}

TEST(MatchChecks, LabelsDivideTheText) {
  constexpr char kBlocks[] = "block a {\nx\n}\nblock b {\ny\n}";
  EXPECT_OK(MatchChecks("CHECK-LABEL: block a\nCHECK: x\nCHECK-LABEL: block b\nCHECK: y", kBlocks));
  EXPECT_FALSE(MatchChecks("CHECK-LABEL: block a\nCHECK: y\nCHECK-LABEL: block b", kBlocks).ok());
  EXPECT_FALSE(MatchChecks("CHECK-LABEL: block c", kBlocks).ok());
}

TEST(MatchChecks, MalformedChecksAreUsageErrors) {
  EXPECT_THAT(MatchChecks("", kText), StatusIs(ExitCode::kUsage, HasSubstr("no CHECK line")));
  EXPECT_THAT(MatchChecks("CHEK: x", kText), StatusIs(ExitCode::kUsage, HasSubstr("check line 1: found 'CHEK: x'")));
  EXPECT_THAT(MatchChecks("CHECK:", kText), StatusIs(ExitCode::kUsage, HasSubstr("needed CHECK: and a pattern")));
  EXPECT_THAT(MatchChecks("CHECK: [[X = cast", kText), StatusIs(ExitCode::kUsage, HasSubstr("needed ']]'")));
}

}  // namespace
}  // namespace ampc::testing
