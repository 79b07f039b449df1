// ampc convert --probe: what leaves the range on made inputs.
#include "absl/strings/str_replace.h"
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Nothing but a run shows that h leaves the range of a half.
constexpr char kLoud[] = R"(program loud version=1

block main {
  feed  x : f32 [?, 64]
  param w : f32 [64, 8] = 9000.0
  param u : f32 [8, 8] = 0.1
  h = matmul_v2(x, w) : f32 [?, 8]
  g = tanh(h) : f32 [?, 8]
  y = matmul_v2(g, u) : f32 [?, 8]
  fetch y
}
)";

class ProbeTest : public CliTest {
 protected:
  Outcome Convert(std::vector<std::string> more) const {
    more.insert(more.begin(), {"convert", "loud.pdmodel", "-o", "low.pdmodel"});
    return Ampc(more);
  }
};

TEST_F(ProbeTest, KeepsInFp32WhatLeavesTheRange) {
  MakeModel("loud", kLoud);
  const Outcome probed = Convert({"--probe", "2", "--report", "r.json"});
  EXPECT_EQ(probed.code, 0);
  EXPECT_THAT(probed.err, HasSubstr("the ranges of values on made inputs keep 2 ops in fp32"));
  EXPECT_THAT(Read("r.json"), HasSubstr(R"x("probe": "2 runs on made inputs (x: normal values, [1, 64])")x"));
  EXPECT_THAT(Read("r.json"), HasSubstr(R"("rule": "protect.measured", "reason": "'h' reached )"));
  EXPECT_THAT(Read("r.json"), HasSubstr(" on made inputs\""));
  const std::string model = Read("low.pdmodel"), weights = Read("low.pdiparams");
  EXPECT_EQ(Convert({"--probe", "2"}).code, 0);
  EXPECT_EQ(Read("low.pdmodel"), model) << "the same command gives the same bytes";
  EXPECT_EQ(Read("low.pdiparams"), weights);
  Ok({"convert", "low.pdmodel", "-o", "again.pdmodel"});
  EXPECT_EQ(Read("again.pdmodel"), model);
  Ok({"strip", "low.pdmodel", "-o", "back.pdmodel", "--weights", "loud.pdmodel"});
  EXPECT_EQ(Read("back.pdmodel"), Read("loud.pdmodel"));
}

// In a .prog the marks of all ops stand, of those that a selector made low or fp32, too.
TEST_F(ProbeTest, IsInAPlanWhoeverDecided) {
  Write("loud.prog", absl::StrReplaceAll(kLoud, {{"param w : f32 [64, 8] = 9000.0", "feed w : f32 [64, 8]"},
                                                 {"param u : f32 [8, 8] = 0.1", "feed u : f32 [8, 8]"},
                                                 {"matmul_v2(x, w)", "matmul_v2(x, s)"},
                                                 {"  h =", "  s = scale(w) scale=9000.0 : f32 [64, 8]\n  h ="}}));
  for (const char* selector : {"--include", "--exclude"}) {
    ASSERT_EQ(Ampc({"convert", "loud.prog", "-o", "low.prog", "--probe", "2", selector, "matmul_v2", "--plan-out", "p.json"}).code, 0);
    ASSERT_THAT(Read("low.prog"), HasSubstr("protect.measured"));
    ASSERT_THAT(Read("p.json"), HasSubstr("\"measured\": \"'h' reached"));
    ASSERT_EQ(Ampc({"convert", "loud.prog", "-o", "planned.prog", "--plan", "p.json"}).code, 0);
    EXPECT_EQ(Read("planned.prog"), Read("low.prog")) << selector;
  }
}

TEST_F(ProbeTest, IsNotDoneWhereItIsNotWantedOrRangesAreThere) {
  MakeModel("loud", kLoud);
  EXPECT_THAT(Ok({"convert", "loud.pdmodel", "-o", "low.pdmodel"}), HasSubstr("ops: 3 fp16"));
  ExpectFailure({"convert", "low.pdmodel", "-o", "again.pdmodel", "--probe", "2"}, 2, "was converted with --probe=0");
  WriteArchive("quiet.npz", {{"x", *HostTensor::Create(DType::kF32, {1, 64})}});
  EXPECT_THAT(Ok({"convert", "loud.pdmodel", "-o", "low.pdmodel", "--probe", "2", "--calibrate", "quiet.npz", "--report", "r.json"}),
              HasSubstr("ops: 3 fp16"));
  EXPECT_THAT(Read("r.json"), Not(HasSubstr("\"probe\": \"")));
  EXPECT_THAT(Ok({"convert", "loud.pdmodel", "-o", "low.pdmodel", "--probe", "2", "--program-only"}), HasSubstr("ops: 3 fp16"));
}

TEST_F(ProbeTest, IsLeftOutWhereARunIsLarge) {
  Write("large.prog", R"(program large version=1

block main {
  feed a : f32 [4096, 4096]
  feed b : f32 [4096, 4096]
  y = matmul_v2(a, b) : f32 [4096, 4096]
  fetch y
}
)");
  const Outcome outcome = Ampc({"convert", "large.prog", "-o", "low.prog", "--probe", "1", "--report", "r.json"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("no probe: a run is 137 GFLOP, of a probe at most 50 GFLOP; --calibrate measures on your inputs"));
  EXPECT_THAT(Read("r.json"), HasSubstr(R"("probe": "left out: a run is 137 GFLOP)"));
}

TEST_F(ProbeTest, IsLeftOutOfModelsThatDoNotRun) {
  MakeModel("unknown", kUnknownOp);
  Ok({"convert", "unknown.pdmodel", "-o", "low.pdmodel", "--probe", "2", "--report", "r.json"});
  EXPECT_THAT(Read("r.json"), HasSubstr(R"("probe": "left out: )"));
}

TEST_F(ProbeTest, IsANumberOfRuns) {
  MakeModel("loud", kLoud);
  ExpectFailure({"convert", "loud.pdmodel", "-o", "o.pdmodel", "--probe", "1000"}, 2, "--probe is 1000, a number from 0 to 100 is needed");
  ExpectFailure({"convert", "loud.pdmodel", "-o", "o.pdmodel", "--probe", "many"}, 2, "--probe");
  Write("run.json", R"({"probe": 1})");
  EXPECT_THAT(Ampc({"convert", "loud.pdmodel", "-o", "low.pdmodel", "--config", "run.json"}).err, HasSubstr("keep 2 ops in fp32"));
  Write("run.json", R"({"probe": "0"})");
  ExpectFailure({"convert", "loud.pdmodel", "-o", "o.pdmodel", "--config", "run.json"}, 3, "'probe' is string, needs a number");
}

// The cube of a feed, beyond the range of a half from 41 on.
constexpr char kCube[] = R"(program cube version=1

block main {
  feed x : f32 [?, 8]
  s = elementwise_mul(x, x) : f32 [?, 8]
  y = elementwise_mul(s, x) : f32 [?, 8]
  fetch y
}
)";

TEST_F(ProbeTest, ADeclaredRangeProvesWhatNeedsNoProtection) {
  MakeModel("cube", kCube);
  EXPECT_THAT(Ok({"convert", "cube.pdmodel", "-o", "low.pdmodel"}), HasSubstr("ops: 0 fp16, 2 fp32"));
  EXPECT_THAT(Ok({"convert", "cube.pdmodel", "-o", "low.pdmodel", "--input-range", "x=-40:40"}), HasSubstr("ops: 2 fp16, 0 fp32"));
  EXPECT_THAT(Ok({"explain", "cube.pdmodel", "--input-range", "x=-40:40", "--op", "name:y"}),
              HasSubstr("its result is proven in the range of f16: [-64000, 64000]"));
  const std::string model = Read("low.pdmodel");
  Ok({"convert", "low.pdmodel", "-o", "again.pdmodel"});
  EXPECT_EQ(Read("again.pdmodel"), model);
  EXPECT_THAT(Ok({"convert", "cube.pdmodel", "-o", "low.pdmodel", "--input-range", "x=-42:42"}), HasSubstr("ops: 0 fp16, 2 fp32"));
}

// The reach of values in runs is no proof, and is said to be none.
TEST_F(ProbeTest, ExplainSaysWhatIsMeasuredAndWhatIsProven) {
  MakeModel("one",
            "program one version=1\n\nblock main {\n  feed x : f32 [2, 8]\n  y = elementwise_mul(x, x) : f32 [2, 8]\n"
            "  t = tanh(y) : f32 [2, 8]\n  fetch t\n}\n");
  WriteArchive("in.npz", {{"x", HostTensor::Of<float>({2, 8}, {1, -3, 2})}});
  EXPECT_THAT(Ok({"explain", "one.pdmodel", "--calibrate", "in.npz", "--op", "name:y"}),
              HasSubstr("its result is measured in the range of f16, not proven: [0, 18]"));
  EXPECT_THAT(Ok({"explain", "one.pdmodel", "--calibrate", "in.npz", "--op", "name:t"}),
              HasSubstr("its result is proven in the range of f16"));
  EXPECT_THAT(Ok({"explain", "one.pdmodel", "--op", "name:y"}), Not(HasSubstr("measured")));
}

// Scores are known from runs: what masks them is stored in the range.
TEST_F(ProbeTest, AMaskIsStoredInTheRangeWhereScoresAreKnown) {
  MakeModel("mask", R"(program mask version=1

block main {
  feed  x : f32 [2, 4]
  feed  m : bool [2, 4]
  param k : f32 [2, 4] = -3.4e38
  s = scale(x) scale=2.0 : f32 [2, 4]
  t = where(m, s, k) : f32 [2, 4]
  p = softmax(t) axis=-1 : f32 [2, 4]
  fetch p
}
)");
  WriteArchive("in.npz", {{"x", HostTensor::Of<float>({2, 4}, {1, -3, 2, 0.5, 1, 2, 3, 4})},
                          {"m", HostTensor::Of<bool>({2, 4}, {true, false, true, true, false, false, false, false})}});
  for (const char* known : {"--calibrate=in.npz", "--input-range=x=-4:4"}) {
    Ok({"convert", "mask.pdmodel", "-o", "low.pdmodel", known, "--report", "r.json"});
    EXPECT_THAT(Read("r.json"), HasSubstr(known[2] == 'c' ? "scores reach 16 (measured)" : "scores reach 8 (proven)"));
    Ok({"run", "mask.pdmodel", "--input", "in.npz", "-o", "want.npz"});
    Ok({"run", "low.pdmodel", "--input", "in.npz", "-o", "got.npz", "--strict-rounding"});
    const HostTensor want = ReadArchive("want.npz").begin()->second, got = ReadArchive("got.npz").begin()->second;
    for (int i = 0; i < 8; ++i) EXPECT_NEAR(got.values<float>()[i], want.values<float>()[i], 2e-3) << known << i;
    Ok({"strip", "low.pdmodel", "-o", "back.pdmodel", "--weights", "mask.pdmodel"});
    EXPECT_EQ(Read("back.pdiparams"), Read("mask.pdiparams"));
  }
  Ok({"convert", "mask.pdmodel", "-o", "low.pdmodel", "--probe", "0", "--report", "r.json"});
  EXPECT_THAT(Read("r.json"), HasSubstr("-3.4e+38 is infinite in f16"));
}

TEST_F(ProbeTest, ARangeIsOfAFeedAndHasTwoEnds) {
  MakeModel("cube", kCube);
  for (const char* range : {"x", "x=1", "x=2:1", "x=a:b", "=0:1", "x=nan:1"}) {
    ExpectFailure({"convert", "cube.pdmodel", "-o", "o.pdmodel", "--input-range", range}, 2, "NAME=LOW:HIGH is needed");
  }
  ExpectFailure({"convert", "cube.pdmodel", "-o", "o.pdmodel", "--input-range", "z=0:1"}, 2, "names 'z', the name of a feed is needed");
  ExpectFailure({"convert", "cube.pdmodel", "-o", "o.pdmodel", "--input-range", "x=0:1", "--input-range", "x=0:2"}, 2, "there are two");
  ExpectFailure({"convert", "cube.pdmodel", "-o", "o.pdmodel", "--input-range", "x=0:1", "--compat", "paddle-2.6"}, 2, "contradicts");
  ExpectFailure({"convert", "cube.pdmodel", "-o", "o.pdmodel", "--input-range", "x=0:1", "--level", "O0"}, 2, "--input-range needs");
}

}  // namespace
}  // namespace ampc::testing
