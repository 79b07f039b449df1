#include "passes/amp/decide/ranges.h"

#include <limits>

#include "gtest/gtest.h"
#include "tests/testlib/bare_program.h"

namespace ampc {
namespace {

ValueRange RangeOf(const std::vector<float>& values) {
  ValueRange range;
  range.Add(values);
  return range;
}

TEST(Ranges, CountsWhatIsFiniteAndNotZero) {
  const ValueRange range =
      RangeOf({0, -3, 1e-9f, 0x1p-25f, 0x1p-24f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()});
  EXPECT_EQ(range.largest, 3);
  EXPECT_EQ(range.smallest, 1e-9f);
  EXPECT_EQ(range.nonzero, 4);
  EXPECT_EQ(range.vanishing, 2);  // 2^-25 is a tie to zero
  EXPECT_EQ(range.not_finite, 2);
}

TEST(Ranges, AddUpOverRuns) {
  ValueRange sum = RangeOf({0});
  sum.Add(RangeOf({2, 0.5f}));
  sum.Add(RangeOf({-7}));
  EXPECT_EQ(sum, RangeOf({0, 2, 0.5f, -7}));
}

TEST(Ranges, AreAFileAndBack) {
  const Ranges ranges = {{"x/y:0", RangeOf({1.5f, -70000})}, {"z", RangeOf({})}};
  const std::string text = RangesJson(ranges);
  EXPECT_EQ(text, R"({
  "ampc-ranges": 1,
  "values": {
    "x/y:0": {"largest": 70000, "smallest": 1.5, "nonzero": 2, "vanishing": 0, "negative": 1, "not_finite": 0},
    "z": {"largest": 0, "smallest": 0, "nonzero": 0, "vanishing": 0, "negative": 0, "not_finite": 0}
  }
}
)");
  const absl::StatusOr<Ranges> back = ParseRanges(text);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, ranges);
}

TEST(Ranges, SayWhatIsWrongInAFile) {
  const std::pair<const char*, const char*> bad[] = {
      {R"({"values": {}})", "'ampc-ranges' needs to be 1"},
      {R"({"ampc-ranges": 1})", "'values' needs to be an object"},
      {R"({"ampc-ranges": 1, "values": {"x": {}}})", "value 'x': 'nonzero' needs to be a count"},
      {R"({"ampc-ranges": 1, "values": {"x": {"nonzero": 1, "vanishing": 0, "negative": 0, "not_finite": 0, "largest": -1, "smallest": 0}}})",
       "value 'x': 'largest' needs to be a number that is not negative"}};
  for (const auto& [text, message] : bad) EXPECT_EQ(ParseRanges(text).status().message(), message);
}

Program Parsed() {
  return testing::BareProgram(R"(
feed  x : f32 [4]
param w : f32 [4]
a = elementwise_mul(x, w) : f32 [4]
b = elementwise_add(a, x) : f32 [4]
c = sigmoid(b) : f32 [4]
d = elementwise_mul(c, x) : f32 [4]
e = elementwise_add(d, w) !amp=fp32("mine") : f32 [4]
fetch e
)");
}

std::vector<std::string> Marked(const Ranges& ranges, DType low) {
  Program program = Parsed();
  MarkByRanges(ranges, low, "", {}, program);
  std::vector<std::string> out;
  ForEachOp(program, [&out](const Op& op) {
    if (op.marks.amp != AmpMark::kNone && op.marks.amp_reason != "mine") out.push_back(op.outputs()[0]->name() + " " + op.marks.amp_reason);
  });
  return out;
}

using Lines = std::vector<std::string>;

TEST(Ranges, KeepWhatReachesHalfTheRangeWhereItIsMadeAndRead) {
  EXPECT_EQ(Marked({{"a", RangeOf({40000})}, {"d", RangeOf({30000})}}, DType::kF16),
            (Lines{"a protect.measured: 'a' reached 40000", "b protect.measured: 'a' reached 40000"}));
  EXPECT_EQ(Marked({{"a", RangeOf({40000})}}, DType::kBF16), Lines());
}

TEST(Ranges, KeepWhatVanishesButNotProbabilities) {
  const ValueRange tiny = RangeOf({1e-9f, 1e-9f, 1});
  EXPECT_EQ(Marked({{"a", tiny}, {"c", tiny}}, DType::kF16), (Lines{"a protect.measured: 'a' reached only 1, 2 of 3 values are 0 in f16"}));
  EXPECT_EQ(Marked({{"d", RangeOf({1e-5f})}}, DType::kF16),
            (Lines{"d protect.measured: 'd' reached only 1e-05, 0 of 1 values are 0 in f16"}));
}

}  // namespace
}  // namespace ampc
