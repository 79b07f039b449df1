// Masks that are stored as other numbers: spelled in many ways, of rows that are masked in part, wholly and not at all, in both low types.
// The original decides: masked elements are zero, others as close as the low type allows, nothing is NaN. An op that shows the constant
// keeps it.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/base/status_macros.h"
#include "passes/amp/decide/decision.h"
#include "passes/analysis/target_support.h"
#include "passes/pipeline.h"
#include "runtime/session.h"
#include "tests/testlib/parse_bare.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr int kRows = 4, kColumns = 8;

// Of `s`, the scores, and `m`, 1 where an element counts; `k` stands for the constant.
constexpr const char* kSpellings[] = {
    R"(
feed m : i64 [4, 8]
const k : f32 [] = -K
const one : f32 [] = 1.0
f = cast(m) in_dtype=i64 out_dtype=f32 : f32 [4, 8]
n = elementwise_sub(one, f) : f32 [4, 8]
b = elementwise_mul(n, k) : f32 [4, 8]
t = elementwise_add(s, b) : f32 [4, 8]
)",
    R"(
feed m : i64 [4, 8]
const k : f32 [] = K
const one : f32 [] = 1.0
f = cast(m) in_dtype=i64 out_dtype=f32 : f32 [4, 8]
n = elementwise_sub(f, one) : f32 [4, 8]
b = elementwise_mul(k, n) : f32 [4, 8]
t = elementwise_add(b, s) : f32 [4, 8]
)",
    R"(
feed m : i64 [4, 8]
const k : f32 [] = K
const one : f32 [] = 1.0
f = cast(m) in_dtype=i64 out_dtype=f32 : f32 [4, 8]
n = elementwise_sub(one, f) : f32 [4, 8]
b = elementwise_mul(n, k) : f32 [4, 8]
t = elementwise_sub(s, b) : f32 [4, 8]
)",
    R"(
feed m : i64 [4, 8]
const zero : i64 [4, 8] = 0
const k : f32 [4, 8] = -K
c = not_equal(m, zero) : bool [4, 8]
t = where(c, s, k) : f32 [4, 8]
)",
    R"(
feed m : i64 [4, 8]
const zero : i64 [4, 8] = 0
const none : f32 [4, 8] = 0.0
const k : f32 [4, 8] = -K
c = not_equal(m, zero) : bool [4, 8]
b = where(c, none, k) : f32 [4, 8]
r = reshape2(b) shape=[4, 8] : f32 [4, 8]
t = elementwise_add(s, r) : f32 [4, 8]
)",
};

std::string ProgramOf(const char* spelling, const char* constant, absl::string_view end) {
  return absl::StrCat("feed s : f32 [4, 8]\n", absl::StrReplaceAll(spelling, {{"K", constant}}), end);
}

struct Converted {
  Program program;
  int masks = 0;
};

absl::StatusOr<Converted> Convert(const std::string& text, DType low, const char* scores) {
  AMPC_ASSIGN_OR_RETURN(Program program, testing::ParseBare(text));
  PassContext ctx;
  AMPC_ASSIGN_OR_RETURN(ctx.support, TargetSupport("cuda"));
  const std::string dtype(Name(low));
  AMPC_ASSIGN_OR_RETURN(const Pipeline pipeline,
                        Pipeline::Parse(absl::StrCat("infer-types,protect{dtype=", dtype, ",masks=true,input_ranges=\"s=", scores,
                                                     ",m=0:1\"},amp-decide{dtype=", dtype,
                                                     "},cast-model-to-fp16,cast-parameters-to-fp16{on_overflow=keep},amp-verify")));
  AMPC_RETURN_IF_ERROR(RunPipeline(pipeline, {}, ctx, program));
  const int masks = static_cast<int>(ctx.Find<AmpDecision>()->masks.size());
  return Converted{std::move(program), masks};
}

std::vector<float> Fetched(Program program, const TensorMap& feeds) {
  const absl::StatusOr<Session> session = Session::Create(std::move(program), {.threads = 1, .strict_rounding = true});
  EXPECT_OK(session.status());
  if (!session.ok()) return {};
  const absl::StatusOr<TensorMap> fetched = session->Run(feeds);
  EXPECT_OK(fetched.status());
  if (!fetched.ok()) return {};
  const auto values = fetched->begin()->second.values<float>();
  return {values.begin(), values.end()};
}

// Row 0 is open, row 1 masked, the others are masked in part.
TensorMap RandomFeeds(std::mt19937& random, float scores) {
  std::uniform_real_distribution<float> score(-scores, scores);
  std::vector<float> s(kRows * kColumns);
  std::vector<int64_t> m(s.size());
  for (size_t i = 0; i < s.size(); ++i) {
    const size_t row = i / kColumns;
    s[i] = score(random);
    m[i] = row == 0 ? 1 : row == 1 ? 0 : i % kColumns == row || random() % 2 == 0 ? 1 : 0;
  }
  TensorMap feeds;
  feeds.emplace("s", HostTensor::FromValues<float>({kRows, kColumns}, s));
  feeds.emplace("m", HostTensor::FromValues<int64_t>({kRows, kColumns}, m));
  return feeds;
}

class Masks : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Low, Masks, ::testing::Values(DType::kF16, DType::kBF16),
                         [](const ::testing::TestParamInfo<DType>& info) { return std::string(Name(info.param)); });

TEST_P(Masks, GiveTheSameProbabilities) {
  const DType low = GetParam();
  const double unit = low == DType::kF16 ? 0x1p-10 : 0x1p-7;
  std::mt19937 random(1);
  for (const char* constant : {"3.4028235e38", "1e9", "1e5"}) {
    const bool lost = low == DType::kF16 || std::string(constant) == "3.4028235e38";
    for (const char* spelling : kSpellings) {
      for (const float scores : {8.0f, 100.0f}) {
        const std::string text = ProgramOf(spelling, constant, "p = softmax(t) axis=-1 : f32 [4, 8]\nfetch p\n");
        absl::StatusOr<Converted> low_program = Convert(text, low, scores == 8 ? "-8:8" : "-100:100");
        ASSERT_OK(low_program.status()) << text;
        EXPECT_EQ(low_program->masks, lost ? 1 : 0) << text;
        bool is_low = false;
        ForEachOp(low_program->program, [&](const Op& op) {
          for (const Var* var : op.outputs())
            is_low = is_low || (IsLowPrecision(var->type.dtype) && var->name().substr(0, var->name().find('.')) == "t");
        });
        EXPECT_TRUE(is_low || !lost) << text;
        const TensorMap feeds = RandomFeeds(random, scores);
        const std::vector<float> want = Fetched(*testing::ParseBare(text), feeds), got = Fetched(std::move(low_program->program), feeds);
        ASSERT_EQ(want.size(), got.size());
        for (size_t i = 0; i < got.size(); ++i) {
          const bool masked_row = i / kColumns == 1;
          ASSERT_TRUE(std::isfinite(got[i])) << text << i;
          if (masked_row && absl::StrContains(text, "t = elementwise")) continue;  // finite, not uniform
          if (want[i] == 0) {
            EXPECT_EQ(got[i], 0) << text << i;
          } else {
            EXPECT_NEAR(got[i], want[i], (2 * scores + 2) * unit * want[i] + 0x1p-24) << text << i;
          }
        }
      }
    }
  }
}

// Ends that show how far below the others the masked elements are.
TEST_P(Masks, StayWhereTheyShow) {
  const char* const ends[] = {
      "p = log_softmax(t) axis=-1 : f32 [4, 8]\nfetch p\n",
      "p = softmax(t) axis=-1 : f32 [4, 8]\nfetch p\nfetch t\n",
      "q = reduce_max(t) dim=[1] keep_dim=true : f32 [4, 1]\np = elementwise_sub(t, q) : f32 [4, 8]\nfetch p\n",
      "p = softmax(t) axis=-1 : f32 [4, 8]\nu = scale(t) scale=1e-9 : f32 [4, 8]\nfetch p\nfetch u\n",
      "u = elementwise_add(t, t) : f32 [4, 8]\np = softmax(u) axis=-1 : f32 [4, 8]\nfetch p\n",
      "u = scale(t) scale=-1.0 : f32 [4, 8]\np = softmax(u) axis=-1 : f32 [4, 8]\nfetch p\n",
  };
  for (const char* end : ends) {
    for (const char* spelling : kSpellings) {
      const std::string text = ProgramOf(spelling, "3.4028235e38", end);
      const absl::StatusOr<Converted> converted = Convert(text, GetParam(), "-8:8");
      ASSERT_OK(converted.status()) << text;
      EXPECT_EQ(converted->masks, 0) << text;
    }
  }
}

// Scores of any size may be as small as what takes the constant's place.
TEST_P(Masks, StayWhereScoresAreNotBounded) {
  for (const char* spelling : kSpellings) {
    const std::string text = ProgramOf(spelling, "3.4028235e38", "p = softmax(t) axis=-1 : f32 [4, 8]\nfetch p\n");
    for (const char* scores : {"-1e39:1e39", "-60000:60000"}) {
      if (GetParam() == DType::kBF16 && scores[1] == '6') continue;  // a small part of the range
      const absl::StatusOr<Converted> converted = Convert(text, GetParam(), scores);
      ASSERT_OK(converted.status()) << text;
      EXPECT_EQ(converted->masks, 0) << text;
    }
  }
}

}  // namespace
}  // namespace ampc
