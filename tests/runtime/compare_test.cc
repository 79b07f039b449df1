// Which outputs of a converted model pass, and why not.
#include "runtime/compare/compare_models.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/compare/difference.h"
#include "runtime/compare/verdict.h"
#include "tests/testlib/parse_bare.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::StatusIs;
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

HostTensor Floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return HostTensor::FromValues<float>(dims, values);
}

OutputVerdict Judge(const HostTensor& a, const HostTensor& b, const JudgeOptions& options = {}) {
  return JudgeOutput(a, b, Compare(a, b, options.lowest), options);
}

// Vectors of floats say what single doubles say: of any length, beside values that are not finite, small and large.
TEST(Difference, OfFloatsIsThatOfDoubles) {
  std::mt19937 random(1);
  std::uniform_int_distribution<uint32_t> any;
  for (const DType narrow : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    for (const size_t n : {0, 1, 3, 8, 17, 1000, 70000}) {
      std::vector<float> a(n), b(n);
      for (size_t i = 0; i < n; ++i) {
        a[i] = i % 7 == 0 ? std::bit_cast<float>(any(random)) : static_cast<float>(any(random)) * 1e-9f - 2;
        b[i] = i % 5 == 0 ? std::bit_cast<float>(any(random)) : i % 3 == 0 ? a[i] : a[i] * 1.001f;
        if (n == 1000) {  // below the least normal
          a[i] *= 1e-38f;
          b[i] *= 1e-38f;
        }
      }
      const Difference want = Compare(std::vector<double>(a.begin(), a.end()), std::vector<double>(b.begin(), b.end()), narrow);
      const Difference got = Compare(absl::MakeConstSpan(a), absl::MakeConstSpan(b), narrow, 2);
      SCOPED_TRACE(std::string(Name(narrow)) + " " + std::to_string(n));
      EXPECT_EQ(got.max_abs, want.max_abs);
      EXPECT_EQ(got.max_rel, want.max_rel);
      EXPECT_EQ(got.max_ulp, want.max_ulp);
      EXPECT_EQ(got.largest_a, want.largest_a);
      EXPECT_EQ(got.largest_b, want.largest_b);
      EXPECT_EQ(got.mismatched_non_finite, want.mismatched_non_finite);
      EXPECT_EQ(got.both_non_finite, want.both_non_finite);
      EXPECT_NEAR(got.mean_rel, want.mean_rel, 1e-12 * std::abs(want.mean_rel));
      EXPECT_NEAR(got.cosine, want.cosine, 1e-12);
    }
  }
}

struct Case {
  const char* what;
  std::vector<float> a, b;
  DType lowest;
  bool passes;
  const char* why;
};

TEST(Verdict, OfValues) {
  const Case cases[] = {
      {"equal", {1, 2}, {1, 2}, DType::kF32, true, "max rel 0 of 0.0001"},
      {"fp32 within", {1, 2}, {1, 2.0001f}, DType::kF32, true, "of 0.0001"},
      {"fp32 beyond", {1, 2}, {1, 2.001f}, DType::kF32, false, "max rel 0.0005 of 0.0001"},
      {"fp16 within", {1, 2}, {1, 2.05f}, DType::kF16, true, "of 0.0312"},
      {"fp16 beyond", {1, 2}, {1, 2.07f}, DType::kF16, false, "max rel 0.035 of 0.0312"},
      {"bf16 within", {1, 2}, {1, 2.2f}, DType::kBF16, true, "of 0.125"},
      {"bf16 beyond", {1, 2}, {1, 2.3f}, DType::kBF16, false, "of 0.125"},
      {"zeros", {0, 0}, {0, 0}, DType::kF16, true, "all zero in both"},
      {"underflow", {1e-8f, 2e-8f}, {0, 0}, DType::kF16, false, "all zero in the second"},
      {"below f16", {1e-8f, 2e-8f}, {0, 6e-8f}, DType::kF16, false, "no value of it is above 2e-08, where f16 has few bits or none"},
      {"as small, and right", {1e-5f, 2e-5f}, {1e-5f, 2e-5f}, DType::kF16, true, "max rel 0 of 0.0312"},
      {"as small in bf16", {1e-8f, 2e-8f}, {0, 6e-8f}, DType::kBF16, false, "max rel 2 of 0.125"},
      {"from nothing", {0, 0}, {0, 1}, DType::kF16, false, "all zero in the first"},
      {"overflow", {1, 70000}, {1, std::numeric_limits<float>::infinity()}, DType::kF16, false, "finite in one only: 1 of 2"},
      {"NaN in both", {1, kNan}, {1, kNan}, DType::kF16, true, "not finite in both: 1"},
      {"only NaN", {kNan, kNan}, {kNan, kNan}, DType::kF16, false, "nowhere finite"},
      {"nothing", {}, {}, DType::kF16, true, "empty in both"},
  };
  for (const Case& c : cases) {
    const std::vector<int64_t> dims = {static_cast<int64_t>(c.a.size()), 1};
    const OutputVerdict verdict = Judge(Floats(dims, c.a), Floats(dims, c.b), {.lowest = c.lowest});
    EXPECT_EQ(verdict.passed, c.passes) << c.what;
    EXPECT_THAT(verdict.why, HasSubstr(c.why)) << c.what;
  }
}

TEST(Verdict, OfClasses) {
  const HostTensor a = Floats({2, 3}, {0.7f, 0.2f, 0.1f, 0.5f, 0.49f, 0.01f});
  OutputVerdict same = Judge(a, Floats({2, 3}, {0.69f, 0.21f, 0.1f, 0.51f, 0.48f, 0.01f}), {.lowest = DType::kF16});
  EXPECT_TRUE(same.passed);
  EXPECT_THAT(same.why, HasSubstr("first class the same in 2 of 2 rows"));
  // A class that was as probable: either is right.
  same = Judge(a, Floats({2, 3}, {0.69f, 0.21f, 0.1f, 0.49f, 0.5f, 0.01f}), {.lowest = DType::kF16});
  EXPECT_TRUE(same.passed);
  EXPECT_THAT(same.why, HasSubstr("1 of 2 rows, as probable in 1"));
  const OutputVerdict other = Judge(a, Floats({2, 3}, {0.2f, 0.7f, 0.1f, 0.5f, 0.49f, 0.01f}), {.lowest = DType::kF16});
  EXPECT_FALSE(other.passed);
  EXPECT_THAT(other.why, HasSubstr("another in 1 of 0 allowed"));
  // The same class everywhere, and far less sure of it.
  EXPECT_FALSE(Judge(a, Floats({2, 3}, {0.4f, 0.3f, 0.3f, 0.4f, 0.3f, 0.3f}), {.lowest = DType::kBF16}).passed);
  // No probabilities: by the largest difference.
  EXPECT_THAT(Judge(Floats({1, 2}, {0.2f, 3}), Floats({1, 2}, {3, 0.2f}), {.lowest = DType::kF16}).why, HasSubstr("max rel"));
  // A given tolerance is the one that judges.
  EXPECT_THAT(Judge(a, a, {.lowest = DType::kF16, .of_largest = 0.5}).why, HasSubstr("max rel 0 of 0.5"));
}

// A picture of 64 x 64 with a square of yes from `from` on, each side `side` long.
HostTensor Square(int from, int side, float yes = 0.98f, float no = 0.01f) {
  std::vector<float> map(64 * 64, no);
  for (int i = from; i < from + side; ++i) std::fill_n(map.begin() + i * 64 + from, side, yes);
  return Floats({1, 1, 64, 64}, map);
}

TEST(Verdict, OfMapsOfDecisions) {
  const HostTensor a = Square(10, 32);
  const JudgeOptions f16{.lowest = DType::kF16, .decisions = true};
  OutputVerdict verdict = Judge(a, Square(10, 32, 0.97f), f16);
  EXPECT_TRUE(verdict.passed);
  EXPECT_THAT(verdict.why, HasSubstr("1024 elements say yes, another answer in 0 of 10 allowed"));
  // One place on the border is another: as much as a largest difference can be, and as little as an answer can change.
  HostTensor b = Square(10, 32);
  b.mutable_values<float>()[10 * 64 + 10] = 0.01f;
  EXPECT_TRUE(Judge(a, b, f16).passed);
  EXPECT_FALSE(Judge(a, b, {.lowest = DType::kF16}).passed);
  EXPECT_FALSE(Judge(a, b, {.lowest = DType::kF16, .decisions = true, .of_largest = 0.05}).passed);
  EXPECT_FALSE(Judge(a, b, {.lowest = DType::kF32, .decisions = true}).passed);
  // A place that was as probable: either is right.
  HostTensor doubtful = Square(10, 32);
  std::fill_n(doubtful.mutable_values<float>().begin(), 20, 0.51f);
  std::fill_n(b.mutable_values<float>().begin(), 20, 0.49f);
  EXPECT_THAT(Judge(doubtful, b, f16).why, HasSubstr("another answer in 1 of 10 allowed, as probable in 20"));
  // A border that moves by a place, one answer that is missing beside a thousand places that say no, and answers that are less sure.
  EXPECT_FALSE(Judge(a, Square(11, 32), f16).passed);
  EXPECT_FALSE(Judge(Square(10, 3), Square(10, 0), f16).passed);
  EXPECT_FALSE(Judge(Square(10, 0), Square(10, 3), f16).passed);
  EXPECT_THAT(Judge(a, Square(10, 32, 0.7f), f16).why, HasSubstr("another answer in 0 of 10 allowed; moved 0.2"));
  EXPECT_FALSE(Judge(a, Square(10, 32, 0.7f), f16).passed);
  // Nothing says yes in either: by how much, beside none, does not matter.
  EXPECT_TRUE(Judge(Square(10, 0, 1, 1e-7f), Square(10, 0, 1, 3e-7f), f16).passed);
  // Of few elements each one counts, and what is not finite does not pass for a no.
  EXPECT_THAT(Judge(Floats({2}, {0.4f, 0.9f}), Floats({2}, {0.6f, 0.9f}), f16).why, HasSubstr("max rel 0.222"));
  b.mutable_values<float>()[0] = kNan;
  EXPECT_FALSE(Judge(a, b, f16).passed);
}

TEST(Verdict, ElementByElement) {
  const HostTensor a = Floats({3}, {100, 1, 0}), b = Floats({3}, {101, 1.05f, 0.01f});
  EXPECT_TRUE(Judge(a, b, {.rtol = 0.051, .atol = 0.011}).passed);
  const OutputVerdict verdict = Judge(a, b, {.rtol = 0.051});
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.why, HasSubstr("1 of 3 elements beyond atol 0 + rtol 0.051"));
  EXPECT_THAT(Judge(a, b, {.atol = 0.02}).why, HasSubstr("2 of 3 elements"));
}

TEST(Difference, OfKnownNumbers) {
  const Difference d = Compare(Floats({4}, {1, -4, 2, kNan}), Floats({4}, {1, -4.0625f, 2, kNan}), DType::kF16);
  EXPECT_EQ(d.elements, 4);
  EXPECT_EQ(d.both_non_finite, 1);
  EXPECT_THAT(d.max_abs, DoubleEq(0.0625));
  EXPECT_THAT(d.max_rel, DoubleEq(0.0625 / 4));
  EXPECT_THAT(d.max_ulp, DoubleEq(16));  // the spacing of f16 from 4 on is 2^-8
  EXPECT_THAT(d.mean_rel, DoubleEq(0.0625 / 4 / 3));
  EXPECT_THAT(d.p99_rel, DoubleEq(0.0625 / 4));
  EXPECT_THAT(d.cosine, DoubleNear(0.9999, 1e-3));
  EXPECT_THAT(Compare(Floats({1}, {0x1p-24f}), Floats({1}, {0}), DType::kF16).max_ulp, DoubleEq(1));
  EXPECT_THAT(Compare(Floats({1}, {0x1p-126f}), Floats({1}, {0}), DType::kBF16).max_ulp, DoubleEq(128));
}

TEST(Difference, DoesNotDependOnThreads) {
  std::vector<float> a(300000), b(300000);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 977) * 0.37f;
    b[i] = a[i] * (1 + 1e-3f * static_cast<float>(i % 13));
  }
  const Difference one = Compare(a, b, DType::kF16, 1), four = Compare(a, b, DType::kF16, 4);
  EXPECT_EQ(one.mean_rel, four.mean_rel);
  EXPECT_EQ(one.cosine, four.cosine);
  EXPECT_EQ(one.max_ulp, four.max_ulp);
}

absl::StatusOr<ComparedModel> Model(const std::string& name, const std::string& text) {
  absl::StatusOr<Program> program = testing::ParseBare(text);
  if (!program.ok()) return program.status();
  return ComparedModel::Create(name, *std::move(program), {.threads = 1, .strict_rounding = true});
}

constexpr char kModel[] =
    "feed x : f32 [4]\nh = scale(x) scale=2.0 : f32 [4]\nz = tanh(h) : f32 [4]\ny = scale(z) scale=FACTOR : f32 [4]\nfetch z, y\n";

std::string With(const std::string& factor) {
  std::string text = kModel;
  return text.replace(text.find("FACTOR"), 6, factor);
}

TEST(Models, AreComparedValueByValueAndOutputsInOrder) {
  ASSERT_OK_AND_ASSIGN(const ComparedModel a, Model("a", With("3.0")));
  ASSERT_OK_AND_ASSIGN(const ComparedModel b, Model("b", With("3.1")));
  const TensorMap feeds = {{"x", Floats({4}, {0.1f, 0.2f, 0.3f, -1})}};
  ASSERT_OK_AND_ASSIGN(const ModelComparison same, CompareModels(a, feeds, a, feeds, {}));
  EXPECT_TRUE(same.passed);
  EXPECT_FALSE(same.lost_most.has_value());
  std::vector<std::string> names;
  for (const ComparedValue& v : same.values) names.push_back(v.name);
  EXPECT_THAT(names, ElementsAre("h", "z", "y"));
  ASSERT_OK_AND_ASSIGN(const ModelComparison other, CompareModels(a, feeds, b, feeds, {}));
  EXPECT_FALSE(other.passed);
  EXPECT_THAT(other.reason, HasSubstr("output 'y': max rel 0.0333 of 0.0001"));
  ASSERT_TRUE(other.lost_most.has_value());
  EXPECT_EQ(other.lost_most->name, "y");
  EXPECT_EQ(other.lost_most->op, "scale");
  EXPECT_EQ(other.lost_most->before, 0);
  ASSERT_OK_AND_ASSIGN(const ModelComparison outputs, CompareModels(a, feeds, b, feeds, {.outputs_only = true}));
  EXPECT_EQ(outputs.values.size(), 2u);
  EXPECT_EQ(outputs.reason, other.reason);
  ASSERT_OK_AND_ASSIGN(const ModelComparison allowed, CompareModels(a, feeds, b, feeds, {.of_largest = 0.04}));
  EXPECT_TRUE(allowed.passed);
}

TEST(Models, AnOutputThatTheFirstHasNotIsAUsageError) {
  ASSERT_OK_AND_ASSIGN(const ComparedModel a, Model("a", "feed x : f32 [4]\nh = tanh(x) : f32 [4]\nfetch h\n"));
  ASSERT_OK_AND_ASSIGN(const ComparedModel b, Model("b", "feed x : f32 [4]\ng = tanh(x) : f32 [4]\nfetch g\n"));
  const TensorMap feeds = {{"x", Floats({4}, {1, 2, 3, 4})}};
  EXPECT_THAT(CompareModels(a, feeds, b, feeds, {}), StatusIs(ExitCode::kUsage, HasSubstr("b fetches 'g', a does not")));
}

// The one program in which a place of the map changes its answer, with the map as a sigmoid's result and as any other op's.
TEST(Models, WhatASigmoidMakesAreDecisions) {
  for (const char* last : {"sigmoid", "tanh"}) {
    const auto text = [&](const char* shift) {
      return absl::StrCat("feed x : f32 [40, 40]\nfeed s : f32 [40, 40]\nh = elementwise_add(x, ", shift, ") : f32 [40, 40]\np = ", last,
                          "(h) : f32 [40, 40]\nfetch p\n");
    };
    ASSERT_OK_AND_ASSIGN(const ComparedModel a, Model("a", text("x")));
    ASSERT_OK_AND_ASSIGN(const ComparedModel b, Model("b", text("s")));
    std::vector<float> x(1600, 3), s = x;
    s[7] = -9;
    const TensorMap feeds = {{"x", Floats({40, 40}, x)}, {"s", Floats({40, 40}, s)}};
    ASSERT_OK_AND_ASSIGN(const ModelComparison found, CompareModels(a, feeds, b, feeds, {}));
    EXPECT_FALSE(found.passed);  // float32: another answer is never right
    const bool decides = last == std::string("sigmoid");
    EXPECT_THAT(found.reason, HasSubstr(decides ? "1600 elements say yes, another answer in 1 of 0 allowed" : "max rel"));
  }
}

}  // namespace
}  // namespace ampc
