// ampc convert and strip on small models.
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

struct Low {
  std::string dtype;  // as on the command line
  std::string name;   // as printed
  friend std::ostream& operator<<(std::ostream& out, const Low& low) { return out << low.dtype; }
};

class ConvertTest : public CliTest, public ::testing::WithParamInterface<Low> {
 protected:
  void SetUp() override {
    MakeModel("mlp", kMlp);
    MakeModel("conv", kConvNet);
  }
  // To back.pdmodel. That the weights are not the original ones is said.
  void StripWithNote(const std::string& model) const {
    const Outcome outcome = Ampc({"strip", model, "-o", "back.pdmodel"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("the original values are gone"));
  }
  // NAME.pdmodel converted to low.pdmodel.
  void Convert(const std::string& name) const { Ok({"convert", name + ".pdmodel", "-o", "low.pdmodel", "--dtype", GetParam().dtype}); }
};

INSTANTIATE_TEST_SUITE_P(Types, ConvertTest, ::testing::Values(Low{"fp16", "f16"}, Low{"bf16", "bf16"}),
                         [](const auto& info) { return info.param.dtype; });

TEST_P(ConvertTest, LowersProductsAndHalvesTheirWeights) {
  Convert("mlp");
  const JsonValue facts = OkJson({"inspect", "low.pdmodel"});
  EXPECT_EQ(Number(facts, "low_flops_share"), 1);
  EXPECT_EQ(Number(facts, "weights"), 3);
  ASSERT_NE(facts.Find("weights_by_dtype"), nullptr);
  const JsonValue* low = facts.Find("weights_by_dtype")->Find(GetParam().name);
  ASSERT_NE(low, nullptr);
  EXPECT_EQ(Number(*low, "count"), 3);
  EXPECT_EQ(Number(*low, "bytes"), (12 + 3 + 6) * 2);
  EXPECT_LT(Read("low.pdiparams").size(), Read("mlp.pdiparams").size());
  EXPECT_GT(Number(facts, "inserted_casts"), 0);
}

TEST_P(ConvertTest, KeepsTypesOfFeedsAndFetches) {
  Convert("mlp");
  const JsonValue facts = OkJson({"inspect", "low.pdmodel"});
  for (const char* side : {"feeds", "fetches"}) {
    ASSERT_EQ(facts.Find(side)->items.size(), 1u);
    EXPECT_EQ(Text(facts.Find(side)->items[0], "dtype"), "f32") << side;
  }
}

TEST_P(ConvertTest, WhatLosesTooMuchStaysFp32) {
  MakeModel("exp", kExp);
  Convert("exp");
  const JsonValue facts = OkJson({"inspect", "low.pdmodel"});
  EXPECT_EQ(Number(*facts.Find("ops_by_type")->Find("exp"), "low"), 0);
  EXPECT_EQ(Number(*facts.Find("ops_by_type")->Find("matmul_v2"), "low"), 1);
}

TEST_P(ConvertTest, LowIoLowersTheSignatureToo) {
  Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel", "--dtype", GetParam().dtype, "--low-io"});
  const JsonValue facts = OkJson({"inspect", "low.pdmodel"});
  EXPECT_EQ(Text(facts.Find("feeds")->items[0], "dtype"), GetParam().name);
  EXPECT_EQ(Text(facts.Find("fetches")->items[0], "dtype"), GetParam().name);
}

TEST_P(ConvertTest, StatisticsStayFp32) {
  Convert("conv");
  const JsonValue facts = OkJson({"inspect", "low.pdmodel"});
  EXPECT_EQ(Number(*facts.Find("weights_by_dtype")->Find("f32"), "count"), 4);
  EXPECT_EQ(Number(*facts.Find("weights_by_dtype")->Find(GetParam().name), "count"), 1);
}

TEST_P(ConvertTest, ConvertingTwiceChangesNothing) {
  for (const char* name : {"mlp", "conv"}) {
    Convert(name);
    Ok({"convert", "low.pdmodel", "-o", "twice.pdmodel", "--dtype", GetParam().dtype});
    EXPECT_EQ(Read("twice.pdmodel"), Read("low.pdmodel")) << name;
    EXPECT_EQ(Read("twice.pdiparams"), Read("low.pdiparams")) << name;
  }
}

TEST_P(ConvertTest, ConvertedModelsVerify) {
  for (const char* name : {"mlp", "conv"}) {
    Convert(name);
    EXPECT_THAT(Ok({"verify", "low.pdmodel"}), HasSubstr("ok"));
  }
}

TEST_P(ConvertTest, StripRestoresTheProgramByteForByte) {
  for (const std::string name : {"mlp", "conv"}) {
    Convert(name);
    StripWithNote("low.pdmodel");
    EXPECT_EQ(Read("back.pdmodel"), Read(name + ".pdmodel")) << name;
    // Widened from what was stored: as large as the original, other values.
    EXPECT_EQ(Read("back.pdiparams").size(), Read(name + ".pdiparams").size()) << name;
    EXPECT_NE(Read("back.pdiparams"), Read(name + ".pdiparams")) << name;
  }
}

TEST_P(ConvertTest, StripTakesTheWeightsOfTheOriginal) {
  Convert("mlp");
  Ok({"strip", "low.pdmodel", "-o", "back.pdmodel", "--weights", "mlp.pdmodel"});
  EXPECT_EQ(Read("back.pdmodel"), Read("mlp.pdmodel"));
  EXPECT_EQ(Read("back.pdiparams"), Read("mlp.pdiparams"));
}

TEST_P(ConvertTest, StripSaysWhatItDid) {
  Convert("mlp");
  const JsonValue facts = OkJson({"inspect", "low.pdmodel"});
  const Outcome outcome = Ampc({"strip", "low.pdmodel", "-o", "back.pdmodel", "--json"});
  absl::StatusOr<JsonValue> answer = ParseJson(outcome.out);
  ASSERT_TRUE(answer.ok()) << outcome.out;
  const JsonValue& strip = *answer;
  EXPECT_EQ(Number(strip, "casts_removed"), Number(facts, "inserted_casts"));
  EXPECT_EQ(Number(strip, "weight_bytes_before"), 42);
  EXPECT_EQ(Number(strip, "weight_bytes_after"), 84);
}

TEST_P(ConvertTest, EveryFormatHoldsAConversion) {
  Convert("mlp");
  for (const std::string name : {"low.ampc", "low.prog"}) {
    Ok({"convert", "low.pdmodel", "-o", name, "--level", "O0"});
    EXPECT_EQ(Number(OkJson({"inspect", name}), "inserted_casts"), Number(OkJson({"inspect", "low.pdmodel"}), "inserted_casts")) << name;
    StripWithNote(name);
    EXPECT_EQ(Number(OkJson({"inspect", "back.pdmodel"}), "casts"), 0) << name;
  }
}

class ConvertOptionsTest : public CliTest {
 protected:
  void SetUp() override { MakeModel("mlp", kMlp); }
};

TEST_F(ConvertOptionsTest, O0CopiesByteForByte) {
  Ok({"convert", "mlp.pdmodel", "-o", "copy.pdmodel", "--level", "O0"});
  EXPECT_EQ(Read("copy.pdmodel"), Read("mlp.pdmodel"));
  EXPECT_EQ(Read("copy.pdiparams"), Read("mlp.pdiparams"));
}

TEST_F(ConvertOptionsTest, BlackListKeepsFp32) {
  Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel", "--black-list", "matmul_v2,relu"});
  const JsonValue facts = OkJson({"inspect", "low.pdmodel"});
  EXPECT_EQ(Number(*facts.Find("ops_by_type")->Find("matmul_v2"), "low"), 0);
  EXPECT_EQ(Number(*facts.Find("ops_by_type")->Find("relu"), "low"), 0);
}

TEST_F(ConvertOptionsTest, WhiteListLowers) {
  MakeModel("exp", kExp);
  Ok({"convert", "exp.pdmodel", "-o", "low.pdmodel", "--white-list", "exp"});
  EXPECT_EQ(Number(*OkJson({"inspect", "low.pdmodel"}).Find("ops_by_type")->Find("exp"), "low"), 1);
}

TEST_F(ConvertOptionsTest, BlackVarsKeepTheirReadersFp32) {
  Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel", "--black-vars", "logits"});
  EXPECT_EQ(Number(*OkJson({"inspect", "low.pdmodel"}).Find("ops_by_type")->Find("matmul_v2"), "low"), 1);
}

TEST_F(ConvertOptionsTest, ReportNamesEveryOp) {
  Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel", "--report", "report.json"});
  absl::StatusOr<JsonValue> report = ParseJson(Read("report.json"));
  ASSERT_TRUE(report.ok()) << report.status();
  for (const char* op : {"\"matmul_v2\"", "\"elementwise_add\"", "\"relu\"", "\"softmax\""})
    EXPECT_THAT(Read("report.json"), HasSubstr(op));
  for (const char* weight : {"\"w1\"", "\"b1\"", "\"w2\""}) EXPECT_THAT(Read("report.json"), HasSubstr(weight));
}

TEST_F(ConvertOptionsTest, ReportIsAPage) {
  Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel", "--report", "report.html"});
  const std::string page = Read("report.html");
  EXPECT_EQ(page.substr(0, 15), "<!doctype html>");
  for (const char* part : {"\"op\": \"softmax\"", "\"name\": \"w1\"", "\"grouped\":", "</html>"}) EXPECT_THAT(page, HasSubstr(part));
}

TEST_F(ConvertOptionsTest, ReportSaysHowToGetTheSameAgain) {
  Ok({"convert", "mlp.pdmodel", "--black-list", "relu,softmax", "-o", "low.pdmodel", "--promote", "--report", "the report.json"});
  absl::StatusOr<JsonValue> report = ParseJson(Read("the report.json"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(Text(*report, "command"),
            "ampc convert mlp.pdmodel --output low.pdmodel --promote --black-list relu --black-list softmax --report 'the report.json'");
}

// Whether it matters: over the norm of the weight that lost most.
TEST_F(ConvertOptionsTest, SaysWhatWeightsLose) {
  const auto text = [this](const std::string& values) {
    Write("w.prog", "program p version=1\n\nblock main {\n  feed x : f32 [?, 2]\n  param w : f32 [2, 2] = [" + values +
                        "]\n  y = matmul_v2(x, w) : f32 [?, 2]\n  fetch y\n}\n");
    return Ok({"convert", "w.prog", "-o", "low.prog", "--report", "r.json"});
  };
  EXPECT_THAT(text("1.5, 90000, 2.5, 1e-9"),
              HasSubstr("\n  of a weight's norm clamping takes up to 27 % ('w'), what became zero at most 3.3e-11 % ('w')\n"));
  EXPECT_THAT(Read("r.json"), HasSubstr("\"norm_lost\": 0.27"));
  EXPECT_THAT(text("1.5, 1e-9, 2.5, 3.5"), HasSubstr("\n  of a weight's norm what became zero at most 8.5e-07 % ('w')\n"));
  EXPECT_THAT(text("1.5, 2, 2.5, 3.5"), ::testing::Not(HasSubstr("'s norm")));
  EXPECT_THAT(Read("r.json"), ::testing::Not(HasSubstr("norm_lost")));
}

TEST_F(ConvertOptionsTest, SaysWhatItDid) {
  const std::string text = Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel"});
  EXPECT_THAT(text, HasSubstr("low.pdmodel: "));
  EXPECT_THAT(text, HasSubstr("100.0 % low"));
  const JsonValue json = OkJson({"convert", "mlp.pdmodel", "-o", "low.pdmodel"});
  EXPECT_EQ(Text(json, "dtype"), "fp16");
  EXPECT_EQ(Text(json, "level"), "O2");
  EXPECT_EQ(Number(json, "bytes_after"), static_cast<double>(Read("low.pdmodel").size() + Read("low.pdiparams").size()));
}

TEST_F(ConvertOptionsTest, ProgramOnlyWritesNoWeights) {
  Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel", "--program-only"});
  EXPECT_FALSE(Files().contains("low.pdiparams"));
  Ok({"convert", "mlp.pdmodel", "-o", "whole.pdmodel"});
  EXPECT_EQ(Read("low.pdmodel"), Read("whole.pdmodel"));
}

TEST_F(ConvertOptionsTest, WeightsGoWhereTheyAreAskedFor) {
  Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel", "--params-output", "elsewhere.bin"});
  EXPECT_FALSE(Files().contains("low.pdiparams"));
  Ok({"convert", "low.pdmodel", "--params", "elsewhere.bin", "-o", "moved.pdmodel", "--level", "O0"});
  EXPECT_EQ(Read("moved.pdiparams"), Read("elsewhere.bin"));
}

TEST_F(ConvertOptionsTest, MeasuredRangesKeepFp32WhatOverflows) {
  MakeModel("wide", R"(program wide version=1

block main {
  feed x : f32 [2]
  param c : f32 [2] = [1000.0, 1000.0]
  a = elementwise_mul(x, c) : f32 [2]
  y = tanh(a) : f32 [2]
  fetch y
}
)");
  WriteArchive("large.npz", {{"x", HostTensor::Of<float>({2}, {500, 1})}});
  WriteArchive("small.npz", {{"x", HostTensor::Of<float>({2}, {0.5f, 1})}});
  const std::vector<std::string> convert = {"convert", "wide.pdmodel", "-o", "low.pdmodel"};
  const auto with = [&convert](std::vector<std::string> more) {
    more.insert(more.begin(), convert.begin(), convert.end());
    return more;
  };
  EXPECT_THAT(Ok(convert), HasSubstr("ops: 2 fp16"));
  EXPECT_THAT(Ok(with({"--calibrate", "small.npz", "--save-ranges", "small.json"})), HasSubstr("ops: 2 fp16"));
  const Outcome measured = Ampc(with({"--calibrate", "small.npz", "--calibrate", "large.npz", "--save-ranges", "all.json"}));
  EXPECT_EQ(measured.code, 0) << measured.err;
  EXPECT_THAT(measured.out, HasSubstr("ops: 0 fp16"));
  EXPECT_THAT(measured.err, HasSubstr("the ranges of values keep 2 ops in fp32"));
  EXPECT_THAT(Read("all.json"), HasSubstr("\"largest\": 5e+05"));
  const std::string before = Read("low.pdmodel");
  EXPECT_EQ(Ampc(with({"--ranges", "all.json"})).code, 0);
  EXPECT_EQ(Read("low.pdmodel"), before);
  for (const char* option : {"--ranges", "--calibrate"}) {
    const Outcome failed = Ampc(with({option, "absent.npz"}));
    EXPECT_EQ(failed.code, 3);
    EXPECT_THAT(failed.err, HasSubstr("absent.npz"));
  }
  ExpectFailure(with({"--save-ranges", "r.json"}), 2, "--save-ranges needs --calibrate");
  ExpectFailure(with({"--calibrate", "large.npz", "--compat", "paddle-2.6"}), 2, "contradicts --compat");
}

TEST_F(ConvertOptionsTest, OverflowingWeightsAreClampedAndCounted) {
  std::string text = kMlp;
  text.replace(text.find("0.7"), 3, "1e6");
  MakeModel("large", text);
  EXPECT_THAT(Ok({"convert", "large.pdmodel", "-o", "low.pdmodel"}), HasSubstr("1 clamped"));
  EXPECT_THAT(Ok({"convert", "large.pdmodel", "-o", "low.pdmodel", "--dtype", "bf16"}), HasSubstr("0 clamped"));
}

}  // namespace
}  // namespace ampc::testing
