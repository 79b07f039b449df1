// convert --level auto.
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Products that are worth their casts, and an op that is not.
constexpr char kMixed[] = R"(program mixed version=1

block main {
  feed  x : f32 [?, 2048]
  feed  z : f32 [?, 2048]
  param w : f32 [2048, 2048] = 0.001
  h = matmul_v2(x, w) : f32 [?, 2048]
  g = matmul_v2(h, w) : f32 [?, 2048]
  t = tanh(z) : f32 [?, 2048]
  e = exp(t) : f32 [?, 2048]
  fetch g
  fetch e
}
)";

class AutoTest : public CliTest {
 protected:
  // Standard output of a conversion at level auto, which says on standard error what it predicts.
  std::string Convert(std::vector<std::string> more) const {
    more.insert(more.begin(), {"convert", "mixed.pdmodel", "-o", "low.pdmodel"});
    const Outcome outcome = Ampc(more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("auto: a run on "));
    return outcome.out;
  }
};

TEST_F(AutoTest, ConvertsWhatGains) {
  MakeModel("mixed", kMixed);
  const Outcome converted =
      Ampc({"convert", "mixed.pdmodel", "-o", "low.pdmodel", "--level", "auto", "--target", "cuda:7.5", "--report", "r.json"});
  EXPECT_EQ(converted.code, 0) << converted.err;
  EXPECT_THAT(converted.out, HasSubstr("ops: 2 fp16, 2 fp32"));
  EXPECT_THAT(converted.out, HasSubstr("casts: 2 inserted"));
  EXPECT_THAT(converted.err, HasSubstr("auto: a run on cuda:7.5 is predicted to take "));
  EXPECT_THAT(converted.err, HasSubstr(" at O2 (4 casts) and "));
  EXPECT_THAT(converted.err, HasSubstr(" as chosen (2 casts)"));
  EXPECT_THAT(Read("r.json"), HasSubstr(R"("rule": "auto", "reason": "on cuda:7.5 f16 makes it )"));
  EXPECT_THAT(Ampc({"explain", "mixed.pdmodel", "--level", "auto", "--target", "cuda:7.5", "--op", "t"}).out,
              HasSubstr("less than the casts around it take"));
  const std::string model = Read("low.pdmodel"), weights = Read("low.pdiparams");
  Ok({"convert", "low.pdmodel", "-o", "again.pdmodel"});
  EXPECT_EQ(Read("again.pdmodel"), model);
  EXPECT_EQ(Read("again.pdiparams"), weights);
  ExpectFailure({"convert", "low.pdmodel", "-o", "again.pdmodel", "--level", "O2"}, 2, "was converted with --level=auto");
  Ok({"strip", "low.pdmodel", "-o", "back.pdmodel", "--weights", "mixed.pdmodel"});
  EXPECT_EQ(Read("back.pdmodel"), Read("mixed.pdmodel"));
}

TEST_F(AutoTest, DoesWhatAPlanAndRequestsSay) {
  MakeModel("mixed", kMixed);
  Convert({"--level", "auto", "--plan-out", "p.json"});
  const std::string model = Read("low.pdmodel");
  Convert({"--plan", "p.json"});
  EXPECT_EQ(Read("low.pdmodel"), model);
  EXPECT_THAT(Convert({"--level", "auto", "--include", "t"}), HasSubstr("ops: 3 fp16, 1 fp32"));
  EXPECT_THAT(Convert({"--level", "auto", "--exclude", "g"}), HasSubstr("ops: 1 fp16, 3 fp32"));
}

TEST_F(AutoTest, SaysWhetherAConversionPays) {
  MakeModel("mixed", kMixed);
  const JsonValue result = OkJson({"convert", "mixed.pdmodel", "-o", "low.pdmodel", "--target", "cuda:7.5"});
  const JsonValue* predicted = result.Find("predicted");
  ASSERT_NE(predicted, nullptr);
  EXPECT_EQ(Text(*predicted, "device"), "cuda:7.5");
  EXPECT_EQ(Number(*predicted, "casts"), 4);
  EXPECT_LT(Number(*predicted, "seconds_after"), 0.7 * Number(*predicted, "seconds_before"));
  // x and z of 2048 floats each are fed; t is computed from the one while the other and g are kept.
  EXPECT_EQ(Number(*predicted, "bytes_before"), 4 * 3 * 2048);
  EXPECT_THAT(Ok({"convert", "mixed.pdmodel", "-o", "low.pdmodel", "--target", "cuda:7.5"}), Not(HasSubstr("warning")));
  EXPECT_THAT(Ok({"convert", "mixed.pdmodel", "-o", "low.pdmodel", "--target", "cuda:7.5", "--dtype", "bf16"}),
              HasSubstr("warning: no faster: cuda:7.5 has no instructions for this type"));
  MakeModel("mlp", kMlp);
  EXPECT_THAT(Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel"}), HasSubstr("warning: slower: the 2 casts take more than is saved"));
  EXPECT_THAT(Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel", "--level", "O0"}), Not(HasSubstr("predicted")));
}

// A CPU computes f16 as float32, so that nothing gains.
TEST_F(AutoTest, LeavesAModelThatGainsNothing) {
  MakeModel("mixed", kMixed);
  EXPECT_THAT(Convert({"--level", "auto", "--target", "cpu"}), HasSubstr("ops: 0 fp16, 4 fp32"));
  EXPECT_EQ(Read("low.pdmodel"), Read("mixed.pdmodel"));
}

// Its operator set would have to be raised for bf16, which this GPU has no instructions for.
TEST_F(AutoTest, LeavesAnOnnxModelThatGainsNothing) {
  Write("small.onnx", ReadFile("tests/golden/onnx/small.onnx"));
  EXPECT_EQ(Ampc({"convert", "small.onnx", "-o", "low.onnx", "--level", "auto", "--dtype", "bf16", "--target", "cuda:7.5"}).code, 0);
  EXPECT_EQ(Read("low.onnx"), Read("small.onnx"));
}

TEST_F(AutoTest, SaysWhatContradictsIt) {
  MakeModel("mlp", kMlp);
  const std::vector<std::string> convert = {"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--level", "auto"};
  const auto fails = [&](std::vector<std::string> more, const std::string& sentence) {
    more.insert(more.begin(), convert.begin(), convert.end());
    ExpectFailure(more, 2, sentence);
  };
  fails({"--promote"}, "--promote contradicts --level auto");
  fails({"--compat", "paddle-2.6"}, "--level auto contradicts --compat paddle-2.6");
  fails({"--target", "cuda:1.0"}, "--target");
  ExpectFailure({"opt", "mlp.pdmodel", "--passes=amp-decide{level=auto}"}, 2, "level auto: device is '', one of avx2, ");
}

}  // namespace
}  // namespace ampc::testing
