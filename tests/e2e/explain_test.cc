// ampc explain.
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSpectrum[] = R"(program spectrum version=1

block main {
  feed  x : f32 [?, 4]
  param w1 : f32 [4, 4] = 0.1
  param w2 : f32 [4, 4] = 0.1
  h = matmul_v2(x, w1) : f32 [?, 4]
  r = relu(h) : f32 [?, 4]
  s = matmul_v2(r, w2) : f32 [?, 4]
  a = abs(s) : f32 [?, 4]
  y = log(a) : f32 [?, 4]
  z = matmul_v2(h, w2) : f32 [?, 4]
  fetch y, z
}
)";

class ExplainTest : public CliTest {};

TEST_F(ExplainTest, PrintsATableOfAllOps) {
  MakeModel("spectrum", kSpectrum);
  const std::string text = Ok({"explain", "spectrum.pdmodel"});
  EXPECT_THAT(text, HasSubstr("spectrum.pdmodel: at level O2 "));
  EXPECT_THAT(text,
              ContainsRegex(
                  "op  type       value  computes  casts  us +because of +rule\n 0  matmul_v2  h      fp16          1  [0-9.]+ +allow: "));
  EXPECT_THAT(
      text,
      ContainsRegex(" 2  matmul_v2  s      fp32          [01]  [0-9.]+ +log reads a +protect.log: leads to a logarithm of small values"));
}

TEST_F(ExplainTest, TellsOfOpsHowTheirDecisionCameAbout) {
  MakeModel("spectrum", kSpectrum);
  const std::string text = Ok({"explain", "spectrum.pdmodel", "--op", "s"});
  EXPECT_THAT(text, HasSubstr("op 2 (matmul_v2) -> 's' computes in fp32\n  protect.log: leads to a logarithm of small values\n  because\n"
                              "    op 3 (abs) reads 's'\n    op 4 (log) reads 'a': the operand of a logarithm that may be small"));
  EXPECT_THAT(text, Not(HasSubstr("op 0")));
  EXPECT_THAT(Ok({"explain", "spectrum.pdmodel", "--op", "log,type:matmul_v2"}), HasSubstr("op 5 (matmul_v2) -> 'z' computes in fp16"));
}

TEST_F(ExplainTest, TellsOfCastsWhoNeedsThem) {
  MakeModel("spectrum", kSpectrum);
  const std::string text = Ok({"explain", "spectrum.pdmodel", "--why-cast", "x", "--exclude", "h"});
  EXPECT_EQ(text, "nothing casts 'x'\n");
  EXPECT_THAT(Ok({"explain", "spectrum.pdmodel", "--why-cast", "h", "--exclude", "h"}),
              HasSubstr("because matmul_v2 computes in low precision (allow: "));
  EXPECT_THAT(Ok({"explain", "spectrum.pdmodel", "--why-cast", "h", "--exclude", "h"}),
              HasSubstr("and op 0 (matmul_v2), which makes it, computes in fp32 (exclude: "));
}

// The sum of the times of all ops and casts is the time that convert predicts.
TEST_F(ExplainTest, TellsWhatOpsAndCastsTake) {
  MakeModel("spectrum", kSpectrum);
  for (const char* target : {"cuda", "cuda:7.5", "cpu"}) {
    const std::vector<std::string> options = {"--target", target, "--exclude", "h"};
    const auto with = [&](std::vector<std::string> words) {
      words.insert(words.end(), options.begin(), options.end());
      return words;
    };
    const JsonValue explained = OkJson(with({"explain", "spectrum.pdmodel"}));
    const JsonValue converted = OkJson(with({"convert", "spectrum.pdmodel", "-o", "low.pdmodel"}));
    double mixed = 0, fp32 = 0;
    for (const JsonValue& op : explained.Find("ops")->items) {
      mixed += Number(op, "seconds");
      fp32 += Number(op, "fp32_seconds");
    }
    for (const JsonValue& cast : explained.Find("casts")->items) mixed += Number(cast, "seconds");
    const JsonValue& predicted = *converted.Find("predicted");
    EXPECT_NEAR(mixed, Number(predicted, "seconds_after"), 1e-6 * mixed) << target;
    EXPECT_NEAR(fp32, Number(predicted, "seconds_before"), 1e-6 * fp32) << target;
    EXPECT_NEAR(mixed, Number(explained, "seconds"), 1e-6 * mixed) << target;
  }
  EXPECT_THAT(Ok({"explain", "spectrum.pdmodel", "--op", "h"}),
              ContainsRegex("  predicted on cuda:8.0: [0-9.]+ us, [0-9.]+ % of the time; in fp32 "));
  EXPECT_THAT(Ok({"explain", "spectrum.pdmodel", "--why-cast", "h", "--exclude", "h"}),
              ContainsRegex("  predicted on cuda:8.0: [0-9.]+ us\n"));
}

TEST_F(ExplainTest, IsTheSameForTheConvertedModel) {
  MakeModel("spectrum", kSpectrum);
  for (const char* dtype : {"fp16", "bf16"}) {
    Ok({"convert", "spectrum.pdmodel", "-o", "low.pdmodel", "--dtype", dtype, "--exclude", "z"});
    const JsonValue before = OkJson({"explain", "spectrum.pdmodel", "--dtype", dtype, "--exclude", "z"});
    const JsonValue after = OkJson({"explain", "low.pdmodel"});
    ASSERT_EQ(before.Find("ops")->items.size(), after.Find("ops")->items.size());
    for (size_t i = 0; i < before.Find("ops")->items.size(); ++i) {
      for (const char* key : {"op", "value", "precision", "rule", "reason"}) {
        EXPECT_EQ(Text(before.Find("ops")->items[i], key), Text(after.Find("ops")->items[i], key)) << dtype << " op " << i;
      }
      EXPECT_EQ(before.Find("ops")->items[i].Find("chain")->items.size(), after.Find("ops")->items[i].Find("chain")->items.size())
          << dtype << " op " << i;
    }
    EXPECT_EQ(before.Find("casts")->items.size(), after.Find("casts")->items.size()) << dtype;
  }
}

TEST_F(ExplainTest, WritesNothing) {
  MakeModel("spectrum", kSpectrum);
  const std::string model = Read("spectrum.pdmodel"), weights = Read("spectrum.pdiparams");
  Ok({"explain", "spectrum.pdmodel"});
  EXPECT_EQ(Read("spectrum.pdmodel"), model);
  EXPECT_EQ(Read("spectrum.pdiparams"), weights);
}

TEST_F(ExplainTest, SaysWhatItCannotExplain) {
  MakeModel("spectrum", kSpectrum);
  const std::tuple<std::vector<std::string>, int, const char*> wrong[] = {
      {{"--level", "O0"}, 2, "--level O0 decides nothing"},
      {{"--op", "matmul_v3"}, 2, "matmul_v2"},
      {{"--op", ""}, 2, "--op is empty, a selector is needed"},
      {{"--why-cast", "xx"}, 2, "--why-cast: the model has no value 'xx'"},
      {{"--output", "a.pdmodel"}, 2, "--output"}};
  for (const auto& [words, code, message] : wrong) {
    std::vector<std::string> command = {"explain", "spectrum.pdmodel"};
    command.insert(command.end(), words.begin(), words.end());
    const Outcome outcome = Ampc(command);
    EXPECT_EQ(outcome.code, code) << message;
    EXPECT_THAT(outcome.err, HasSubstr(message));
  }
  EXPECT_EQ(Ampc({"explain", "absent.onnx"}).code, 3);
}

}  // namespace
}  // namespace ampc::testing
