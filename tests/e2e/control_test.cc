// The choices of the user of `ampc convert`: ops, feeds and fetches, weights beyond the range; and all of that from a file.
#include <cstring>

#include "graph/base/half.h"
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Args = std::vector<std::string>;

// A product whose square root of a shifted value is protected.
constexpr char kEpsilon[] = R"(program epsilon version=1

block main {
  feed  x : f32 [?, 4]
  param w : f32 [4, 4] = 0.1
  param eps : f32 [1] = [1e-12]
  h = matmul_v2(x, w) : f32 [?, 4]
  e = elementwise_add(h, eps) : f32 [?, 4]
  y = sqrt(e) : f32 [?, 4]
  fetch y
}
)";

// Two feeds, two fetches, one of them computed by an op that stays fp32, and ids.
constexpr char kSignature[] = R"(program signature version=1

block main {
  feed  x : f32 [?, 4]
  feed  z : f32 [?, 4]
  feed  ids : i64 [?]
  param w : f32 [4, 4] = 0.1
  param table : f32 [9, 4] = 0.2
  h = matmul_v2(x, w) : f32 [?, 4]
  v = lookup_table_v2(table, ids) : f32 [?, 4]
  s = elementwise_add(h, v) : f32 [?, 4]
  y = elementwise_add(s, z) : f32 [?, 4]
  e = exp(y) : f32 [?, 4]
  fetch y
  fetch e
}
)";

class ControlTest : public CliTest {
 protected:
  void SetUp() override {
    MakeModel("mlp", kMlp);
    MakeModel("exp", kExp);
    MakeModel("eps", kEpsilon);
    MakeModel("io", kSignature);
  }
  static Args Convert(const std::string& model, Args options, const std::string& output = "low.pdmodel") {
    Args args = {"convert", model + ".pdmodel", "-o", output};
    args.insert(args.end(), options.begin(), options.end());
    return args;
  }
  // The decision of the op that defines `value`, by the report of a conversion with these options: "low: rule", "fp32: rule".
  std::map<std::string, std::string> Decisions(const std::string& model, const Args& options, std::string* reason_of = nullptr) const {
    std::map<std::string, std::string> out;
    const Outcome outcome = Ampc(Convert(model, With(options, {"--report", "report.json"})));
    EXPECT_EQ(outcome.code, 0) << ::testing::PrintToString(options) << outcome.err;
    const absl::StatusOr<JsonValue> report = ParseJson(Read("report.json"));
    if (!report.ok() || report->Find("ops") == nullptr) return out;
    for (const JsonValue& op : report->Find("ops")->items) {
      const std::string value = Text(op, "value");
      out[value] = Text(op, "precision") + ": " + Text(op, "rule");
      if (reason_of != nullptr && value == *reason_of) *reason_of = Text(op, "reason");
    }
    return out;
  }
  // The values that --exclude keeps, joined.
  std::string Excluded(const std::string& model, const Args& options) const {
    std::string out;
    for (const auto& [value, decision] : Decisions(model, options)) {
      if (decision == "fp32: exclude") out += (out.empty() ? "" : " ") + value;
    }
    return out;
  }
  static Args With(Args args, const Args& more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  // Fails with a message that has all parts, and leaves no file.
  void ExpectFailure(const Args& args, int code, const std::vector<std::string>& parts) const {
    const std::map<std::string, std::string> before = Files();
    const Outcome outcome = Ampc(args);
    EXPECT_EQ(outcome.code, code) << ::testing::PrintToString(args) << outcome.err;
    for (const std::string& part : parts) EXPECT_THAT(outcome.err, HasSubstr(part)) << ::testing::PrintToString(args);
    EXPECT_TRUE(Files() == before) << ::testing::PrintToString(args);
  }
  // name -> dtype of one side of the signature.
  std::map<std::string, std::string> Signature(const std::string& model, const std::string& side) const {
    std::map<std::string, std::string> out;
    const JsonValue facts = OkJson({"inspect", model + ".pdmodel"});
    for (const JsonValue& item : facts.Find(side)->items) out[Text(item, "name")] = Text(item, "dtype");
    return out;
  }
};

TEST_F(ControlTest, ExcludeTakesSelectors) {
  EXPECT_EQ(Excluded("mlp", {"--exclude", "matmul_v2"}), "h logits");
  EXPECT_EQ(Excluded("mlp", {"--exclude", "logits"}), "logits");
  EXPECT_EQ(Excluded("mlp", {"--exclude", "type:re*"}), "r");
  EXPECT_EQ(Excluded("mlp", {"--exclude", "name:[rs]"}), "r s");
  EXPECT_EQ(Excluded("mlp", {"--exclude", "regex:matmul_v\\d|p"}), "h logits p");
  EXPECT_EQ(Excluded("mlp", {"--exclude", "reads:w2"}), "logits");
  EXPECT_EQ(Excluded("mlp", {"--exclude", "block:0"}), "h logits p r s");
  EXPECT_EQ(Excluded("mlp", {"--exclude", "upstream:s"}), "h s");
  EXPECT_EQ(Excluded("mlp", {"--exclude", "downstream:r"}), "logits p r");
  EXPECT_EQ(Excluded("mlp", {"--exclude", "downstream:w2"}), "logits p");
  EXPECT_EQ(Excluded("mlp", {"--exclude", "downstream:s & upstream:logits"}), "logits r s");
  EXPECT_EQ(Excluded("mlp", {"--exclude", "relu,softmax"}), "p r");
  EXPECT_EQ(Excluded("mlp", {"--exclude", "relu", "--exclude", "softmax"}), "p r");
  EXPECT_EQ(Excluded("mlp", {"--exclude", "*", "--include", "matmul_v2"}), "p r s");
}

// A word behind a list option is not taken for a part of the list.
TEST_F(ControlTest, ListsTakeOneArgument) {
  for (const char* o : {"--exclude", "--black-list", "--white-list"}) Ok({"convert", o, "relu", "mlp.pdmodel", "-o", "low.pdmodel"});
  Ok({"convert", "--exclude", "[r]el[u]", "mlp.pdmodel", "-o", "low.pdmodel"});
}

TEST_F(ControlTest, IncludeLowersWhatTheRecordDenies) {
  EXPECT_EQ(Decisions("exp", {})["y"], "fp32: deny");
  std::string reason = "y";
  EXPECT_EQ(Decisions("exp", {"--include", "exp"}, &reason)["y"], "low: include");
  EXPECT_THAT(reason, AllOf(HasSubstr("selected by 'exp'"), HasSubstr("deny: exp overflows")));
}

TEST_F(ControlTest, IncludeOverrulesProtectionWithANote) {
  EXPECT_EQ(Decisions("eps", {})["e"], "fp32: protect.constant");
  std::string reason = "e";
  EXPECT_EQ(Decisions("eps", {"--include", "elementwise_add"}, &reason)["e"], "low: include");
  EXPECT_THAT(reason, HasSubstr("protect.constant: 1e-12 is 0 in f16"));
  const Outcome outcome = Ampc(Convert("eps", {"--include", "elementwise_add"}));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("makes 1 op low against protection"), HasSubstr("'e'"), HasSubstr("1e-12 is 0 in f16")));
  EXPECT_EQ(Decisions("eps", {"--white-list", "elementwise_add"})["e"], "fp32: protect.constant");
}

TEST_F(ControlTest, PrecedenceOnTheCommandLine) {
  EXPECT_EQ(Decisions("mlp", {"--include", "name:h", "--exclude", "matmul_v2", "--black-list", "matmul_v2", "--black-vars", "h"})["h"],
            "low: include");
  EXPECT_EQ(Decisions("exp", {"--white-list", "exp", "--exclude", "name:y"})["y"], "fp32: exclude");
  EXPECT_EQ(Decisions("mlp", {"--guard", "--include", "name:h"})["h"], "low: include");
  EXPECT_EQ(Decisions("mlp", {"--guard"})["h"], "fp32: guard");
}

TEST_F(ControlTest, SelectorsThatMatchNothing) {
  ExpectFailure(Convert("mlp", {"--exclude", "name:logit"}), 2, {"selector 'name:logit' matches no op", "did you mean 'logits'?"});
  ExpectFailure(Convert("mlp", {"--include", "sofmax"}), 2, {"'sofmax'", "did you mean 'softmax'?"});
  ExpectFailure(Convert("mlp", {"--exclude", "w1"}), 2, {"reads:w1"});
  ExpectFailure(Convert("mlp", {"--exclude", "region:1"}), 2, {"it has no fp16_guard regions"});
  ExpectFailure(Convert("mlp", {"--exclude", "upstream:x"}), 2, {"nothing leads to it"});
  ExpectFailure(Convert("mlp", {"--exclude", "nam:h"}), 2, {"--exclude", "did you mean 'name'?"});
  for (size_t n : {1, 30000}) ExpectFailure(Convert("mlp", {"--include", "regex:" + std::string(n, '(')}), 2, {"include", "regular expr"});
  ExpectFailure(Convert("mlp", {"--exclude", ""}), 2, {"--exclude"});
  ExpectFailure(Convert("io", {"--include", "name:nothing,relu"}), 2, {"name:nothing"});
  ExpectFailure(Convert("mlp", {"--include", "relu", "--level", "O0"}), 2, {"--include"});
}

TEST_F(ControlTest, SelectorsMeanTheSameInAConvertedModel) {
  const Args options = {"--include", "name:p,exp*", "--include", "regex:y|h", "--low-io=e"};
  MakeModel("both", R"(program both version=1
block main {
  feed  x : f32 [?, 4]
  param w : f32 [4, 4] = 0.1
  h = matmul_v2(x, w) : f32 [?, 4]
  t = tanh(h) : f32 [?, 4]
  y = exp(t) : f32 [?, 4]
  p = relu(y) : f32 [?, 4]
  e = softmax(p) : f32 [?, 4]
  fetch h
  fetch y
  fetch p
  fetch e
}
)");
  Ok(Convert("both", options));
  Ok(Convert("low", options, "twice.pdmodel"));
  EXPECT_EQ(Read("twice.pdmodel"), Read("low.pdmodel"));
  EXPECT_EQ(Read("twice.pdiparams"), Read("low.pdiparams"));
  Ok({"strip", "low.pdmodel", "-o", "back.pdmodel", "--weights", "both.pdmodel"});
  EXPECT_EQ(Read("back.pdmodel"), Read("both.pdmodel"));
}

TEST_F(ControlTest, FeedsAndFetchesByName) {
  using Types = std::map<std::string, std::string>;
  const Types kept_feeds = {{"x", "f32"}, {"z", "f32"}, {"ids", "i64"}}, kept_fetches = {{"y", "f32"}, {"e", "f32"}};
  const auto expect = [&](const Args& options, const Types& feeds, const Types& fetches) {
    Ok(Convert("io", options));
    EXPECT_EQ(Signature("low", "feeds"), feeds) << ::testing::PrintToString(options);
    EXPECT_EQ(Signature("low", "fetches"), fetches) << ::testing::PrintToString(options);
    Ok({"verify", "low.pdmodel"});
  };
  expect({}, kept_feeds, kept_fetches);
  expect({"--keep-io"}, kept_feeds, kept_fetches);
  const Types low_feeds = {{"x", "f16"}, {"z", "f16"}, {"ids", "i64"}};
  expect({"--low-io"}, low_feeds, {{"y", "f16"}, {"e", "f32"}});
  expect({"--low-io=x"}, {{"x", "f16"}, {"z", "f32"}, {"ids", "i64"}}, kept_fetches);
  expect({"--low-io=z,e"}, {{"x", "f32"}, {"z", "f16"}, {"ids", "i64"}}, {{"y", "f32"}, {"e", "f16"}});
  expect({"--low-io=z", "--low-io=e"}, {{"x", "f32"}, {"z", "f16"}, {"ids", "i64"}}, {{"y", "f32"}, {"e", "f16"}});
  expect({"--keep-io=y,x"}, {{"x", "f32"}, {"z", "f16"}, {"ids", "i64"}}, kept_fetches);
  expect({"--low-io", "--keep-io=x"}, {{"x", "f32"}, {"z", "f16"}, {"ids", "i64"}}, {{"y", "f16"}, {"e", "f32"}});
  expect({"--keep-io=x,ids", "--low-io=e"}, kept_feeds, {{"y", "f32"}, {"e", "f16"}});
  expect({"--keep-io", "--low-io=y"}, kept_feeds, {{"y", "f16"}, {"e", "f32"}});
}

TEST_F(ControlTest, FeedsAndFetchesThatAreNone) {
  ExpectFailure(Convert("io", {"--low-io=xx"}), 2, {"low-io names 'xx'", "did you mean 'x'?"});
  ExpectFailure(Convert("io", {"--keep-io=middle"}), 2, {"keep-io names 'middle'", "these are e, ids, x, y, z"});
  ExpectFailure(Convert("io", {"--keep-io=h"}), 2, {"neither a feed nor a fetch"});
  ExpectFailure(Convert("io", {"--low-io=ids"}), 2, {"'ids', which is i64"});
  ExpectFailure(Convert("io", {"--low-io=x", "--keep-io=x"}), 2, {"both name 'x'"});
  ExpectFailure(Convert("io", {"--low-io", "--keep-io"}), 2, {"contradict"});
  ExpectFailure(Convert("io", {"--low-io", "--low-io=x"}), 2, {"--low-io alone means all"});
}

// The low value of a fetch that fp32 computes is that value rounded once.
TEST_F(ControlTest, ALowFetchOfAnFp32OpIsCast) {
  WriteArchive("in.npz", {{"x", HostTensor::Of<float>({1, 4}, {1, 2, 3, 4})}});
  Ok(Convert("exp", {"--low-io=y"}));
  Ok(Convert("exp", {}, "kept.pdmodel"));
  Ok({"run", "low.pdmodel", "--input", "in.npz", "-o", "low.npz"});
  Ok({"run", "kept.pdmodel", "--input", "in.npz", "-o", "kept.npz"});
  const HostTensor low = ReadArchive("low.npz").at("y"), kept = ReadArchive("kept.npz").at("y");
  ASSERT_EQ(low.dtype(), DType::kF16);
  ASSERT_EQ(kept.dtype(), DType::kF32);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(low.values<Half>()[i].bits, Half(kept.values<float>()[i]).bits);
}

class WeightControlTest : public ControlTest {
 protected:
  void SetUp() override {
    MakeModel("wide", R"(program wide version=1

block main {
  feed  x : f32 [?, 2]
  param w : f32 [2, 7] = [1.0, -0.0, 1e6, -3.4e38, 1e-06, -1e-06, -1e-09, 1e-39, -1e-45, 0.1, inf, -inf, nan, 65520.0]
  y = matmul_v2(x, w) : f32 [?, 7]
  fetch y
}
)");
  }
  // The stored bits of the only weight.
  std::vector<uint16_t> Stored(const Args& options) const {
    Ok(Convert("wide", options));
    const std::string file = Read("low.pdiparams");
    std::vector<uint16_t> bits(14);
    if (file.size() < 28) return {};
    std::memcpy(bits.data(), file.data() + file.size() - 28, 28);
    return bits;
  }
};

TEST_F(WeightControlTest, F16) {
  EXPECT_THAT(Stored({}),
              ElementsAre(0x3c00, 0x8000, 0x7bff, 0xfbff, 0x0011, 0x8011, 0x8000, 0x0000, 0x8000, 0x2e66, 0x7c00, 0xfc00, 0x7e00, 0x7bff));
  EXPECT_THAT(Stored({"--on-overflow", "keep"}),
              ElementsAre(0x3c00, 0x8000, 0x7c00, 0xfc00, 0x0011, 0x8011, 0x8000, 0x0000, 0x8000, 0x2e66, 0x7c00, 0xfc00, 0x7e00, 0x7c00));
  EXPECT_THAT(Stored({"--on-tiny", "flush"}),
              ElementsAre(0x3c00, 0x8000, 0x7bff, 0xfbff, 0x0000, 0x8000, 0x8000, 0x0000, 0x8000, 0x2e66, 0x7c00, 0xfc00, 0x7e00, 0x7bff));
  EXPECT_THAT(Stored({"--on-tiny", "keep"}),
              ElementsAre(0x3c00, 0x8000, 0x7bff, 0xfbff, 0x0011, 0x8011, 0x8001, 0x0001, 0x8001, 0x2e66, 0x7c00, 0xfc00, 0x7e00, 0x7bff));
}

TEST_F(WeightControlTest, BF16) {
  EXPECT_THAT(Stored({"--dtype", "bf16"}),
              ElementsAre(0x3f80, 0x8000, 0x4974, 0xff7f, 0x3586, 0xb586, 0xb089, 0x000b, 0x8000, 0x3dcd, 0x7f80, 0xff80, 0x7fc0, 0x4780));
  EXPECT_THAT(Stored({"--dtype", "bf16", "--on-tiny", "flush"}),
              ElementsAre(0x3f80, 0x8000, 0x4974, 0xff7f, 0x3586, 0xb586, 0xb089, 0x0000, 0x8000, 0x3dcd, 0x7f80, 0xff80, 0x7fc0, 0x4780));
  EXPECT_THAT(Stored({"--dtype", "bf16", "--on-tiny", "keep", "--on-overflow", "keep"}),
              ElementsAre(0x3f80, 0x8000, 0x4974, 0xff80, 0x3586, 0xb586, 0xb089, 0x000b, 0x8001, 0x3dcd, 0x7f80, 0xff80, 0x7fc0, 0x4780));
}

TEST_F(WeightControlTest, ErrorNamesTheWeightTheCountAndTheLargest) {
  Write("low.pdmodel", "old");
  ExpectFailure(Convert("wide", {"--on-overflow", "error", "--report", "r.json", "--write-config", "c.json"}), 3,
                {"'w'", "3 of 14 values are beyond the range of f16", "largest magnitude is 3.4e+38"});
  ExpectFailure(Convert("wide", {"--on-overflow", "error", "--dtype", "bf16"}), 3, {"'w'", "1 of 14 values is beyond the range of bf16"});
  ExpectFailure(Convert("wide", {"--on-overflow", "eror"}), 2, {"--on-overflow"});
  ExpectFailure(Convert("wide", {"--on-tiny", "zero"}), 2, {"--on-tiny"});
}

class ConfigTest : public ControlTest {
 protected:
  void Same(const std::string& a, const std::string& b) const {
    EXPECT_EQ(Read(a + ".pdmodel"), Read(b + ".pdmodel"));
    EXPECT_EQ(Read(a + ".pdiparams"), Read(b + ".pdiparams"));
  }
};

TEST_F(ConfigTest, WrittenConfigurationReproducesTheRun) {
  const std::vector<Args> runs = {{},
                                  {"--dtype", "bf16", "--level", "O1"},
                                  {"--level", "O0"},
                                  {"--exclude", "name:s & upstream:y,regex:e{1,2}", "--include", "reads:w", "--black-vars", "v"},
                                  {"--low-io", "--keep-io=z", "--on-tiny", "flush", "--on-overflow", "keep", "--target", "cpu"},
                                  {"--keep-io=y", "--white-list", "exp", "--black-list", "matmul_v2,lookup_table_v2", "--promote"},
                                  {"--low-io=e,z", "--guard", "--include", "type:matmul_v2"},
                                  {"--program-only", "--on-tiny", "keep"},
                                  {"--compat", "paddle-2.0", "--level", "O1"},
                                  {"--compat", "paddle-2.6", "--level", "O2", "--dtype", "bf16", "--black-list", "exp"},
                                  {"--compat", "paddle-inference-2.6"}};
  for (const Args& options : runs) {
    Ok(Convert("io", With(options, {"--write-config", "run.json", "--report", "report.json"}), "first.pdmodel"));
    for (const char* config : {"run.json", "report.json"}) {
      Ok(Convert("io", {"--config", config, "--write-config", "again.json"}, "second.pdmodel"));
      Same("first", "second");
      EXPECT_EQ(Read("again.json"), Read("run.json")) << ::testing::PrintToString(options);
    }
  }
}

TEST_F(ConfigTest, ExactText) {
  Ok(Convert("io", {"--exclude", "exp", "--low-io=z", "--white-list", "relu,tanh", "--write-config", "run.json"}));
  EXPECT_EQ(Read("run.json"), R"({
  "ampc-config": 1,
  "dtype": "fp16",
  "level": "O2",
  "keep-io": false,
  "low-io": ["z"],
  "guard": false,
  "promote": false,
  "white-list": ["relu", "tanh"],
  "black-list": [],
  "black-vars": [],
  "include": [],
  "exclude": ["exp"],
  "on-overflow": "clamp",
  "on-tiny": "subnormal",
  "rescale": false,
  "target": "cuda",
  "runtime": "ampc",
  "input-range": [],
  "dims": [],
  "probe": 0,
  "program-only": false
}
)");
}

TEST_F(ConfigTest, TheCommandLineWins) {
  Write("run.json", R"({"dtype": "bf16", "exclude": ["matmul_v2"], "low-io": true, "on-tiny": "flush"})");
  Ok(Convert("mlp", {"--config", "run.json", "--dtype", "fp16", "--exclude", "relu", "--keep-io"}, "mixed.pdmodel"));
  Ok(Convert("mlp", {"--exclude", "relu", "--on-tiny", "flush"}, "direct.pdmodel"));
  Same("mixed", "direct");
  Ok(Convert("mlp", {"--config", "run.json"}, "file.pdmodel"));
  Ok(Convert("mlp", {"--dtype", "bf16", "--exclude", "matmul_v2", "--low-io", "--on-tiny", "flush"}, "direct.pdmodel"));
  Same("file", "direct");
}

TEST_F(ConfigTest, BadConfigurations) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {R"({"dtyp": "fp16"})", "did you mean 'dtype'?"},
      {R"({"white_list": ["relu"]})", "did you mean 'white-list'?"},
      {R"({"dtype": "fp8"})", "fp8"},
      {R"({"dtype": 16})", "'dtype' is number, needs a string"},
      {R"({"level": "O7"})", "O7"},
      {R"({"guard": "yes"})", "'guard' is string, needs true or false"},
      {R"({"exclude": "relu"})", "'exclude' is string, needs an array of strings"},
      {R"({"exclude": ["relu", 1]})", "'exclude' is array, needs an array of strings"},
      {R"({"low-io": 1})", "needs true, false or an array of names"},
      {R"({"output": "x.pdmodel"})", "'output' belongs on the command line"},
      {R"({"ampc-config": 2})", "this version reads 1"},
      {R"(["relu"])", "needs an object"},
      {R"({"guard": true)", "run.json"},
      {"", "run.json"}};
  for (const auto& [text, part] : bad) {
    Write("run.json", text);
    ExpectFailure(Convert("mlp", {"--config", "run.json"}), text.find("fp8") == std::string::npos ? 3 : 2, {part});
  }
  ExpectFailure(Convert("mlp", {"--config", "absent.json"}), 3, {"absent.json"});
  Write("run.json", R"({"exclude": ["name:nothing"]})");
  ExpectFailure(Convert("mlp", {"--config", "run.json"}), 2, {"name:nothing"});
  Write("run.json", "{}");
  ExpectFailure(Convert("mlp", {"--config", "run.json", "--write-config", "run.json"}), 2, {"run.json"});
  ExpectFailure(Convert("mlp", {"--write-config", "absent/c.json"}), 5, {"absent/"});
}

}  // namespace
}  // namespace ampc::testing
