// ampc inspect, verify, opt and dot on small models.
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class VerbsTest : public CliTest {};

TEST_F(VerbsTest, InspectPrintsSignatureAndOps) {
  MakeModel("mlp", kMlp);
  const std::string text = Ok({"inspect", "mlp.pdmodel"});
  for (const char* part : {"feeds", "x : f32 [?, 4]", "fetches", "p : f32 [?, 2]", "matmul_v2", "weights f32: 3"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(Ok({"inspect", "mlp.pdmodel", "--weights"}), HasSubstr("w1"));
  EXPECT_THAT(Ok({"inspect", "mlp.pdmodel", "--text"}), HasSubstr("r = relu(s)"));
}

TEST_F(VerbsTest, InspectListsFrequentOpsFirstAndCountsCastsApart) {
  MakeModel("mlp", kMlp);
  Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel"});
  const std::string text = Ok({"inspect", "low.pdmodel"});
  EXPECT_THAT(text, HasSubstr("ops: 5 low, 0 fp32, 0 without floats"));
  EXPECT_LT(text.find("\nmatmul_v2"), text.find("\nelementwise_add"));
}

TEST_F(VerbsTest, InspectPrintsThePlan) {
  MakeModel("mlp", kMlp);
  const std::string text = Ok({"inspect", "mlp.pdmodel", "--plan", "--dims", "x=3,4", "--threads", "1"});
  for (const char* part : {"onednn:", "feed0", " -> +", ":f32", "\narena "}) EXPECT_THAT(text, HasSubstr(part));
  ExpectFailure({"inspect", "mlp.pdmodel", "--plan", "--dims", "x=3,5"}, 2, "x");
  ExpectFailure({"inspect", "mlp.pdmodel", "--plan", "--json"}, 2, "--plan is printed alone");
  ExpectFailure({"inspect", "mlp.pdmodel", "--dims", "x=3,4"}, 2, "belong to --plan");
}

TEST_F(VerbsTest, InspectJson) {
  MakeModel("conv", kConvNet);
  const JsonValue facts = OkJson({"inspect", "conv.pdmodel"});
  EXPECT_EQ(Text(facts, "model"), "conv.pdmodel");
  EXPECT_EQ(Number(facts, "blocks"), 1);
  EXPECT_EQ(Number(facts, "ops"), 5);
  EXPECT_EQ(Number(facts, "weight_bytes"), (18 + 8) * 4);
  EXPECT_EQ(Number(facts, "low_ops"), 0);
  const JsonValue& feed = facts.Find("feeds")->items[0];
  EXPECT_EQ(Text(feed, "name"), "image");
  EXPECT_EQ(feed.Find("dims")->items.size(), 4u);
}

TEST_F(VerbsTest, WithoutConvolutionsAndProductsThereIsNoShareOfTheirWork) {
  Write("act.prog", "program act version=1\nblock main {\n  feed x : f32 [2, 3]\n  y = relu(x) : f32 [2, 3]\n  fetch y\n}\n");
  EXPECT_THAT(Ok({"inspect", "act.prog"}), HasSubstr("conv and matmul flops: none"));
  const JsonValue facts = OkJson({"inspect", "act.prog"});
  const JsonValue* share = facts.Find("low_flops_share");
  ASSERT_NE(share, nullptr);
  EXPECT_EQ(share->kind, JsonValue::Kind::kNull);
}

TEST_F(VerbsTest, VerifyAnswers) {
  MakeModel("mlp", kMlp);
  EXPECT_EQ(Ok({"verify", "mlp.pdmodel"}), "mlp.pdmodel: ok, 5 ops\n");
  Write("ill.prog", kIllFormed);
  const Outcome no = Ampc({"verify", "ill.prog"});
  EXPECT_EQ(no.code, 1);
  EXPECT_THAT(no.err, HasSubstr("relu"));
  const Outcome json = Ampc({"verify", "ill.prog", "--json"});
  EXPECT_EQ(json.code, 1);
  absl::StatusOr<JsonValue> answer = ParseJson(json.out);
  ASSERT_TRUE(answer.ok()) << json.out;
  EXPECT_FALSE(answer->Find("ok")->boolean);
}

TEST_F(VerbsTest, UnknownOpsAndControlFlowAreCarriedThrough) {
  for (const auto& [name, text] : {std::pair{"unknown", kUnknownOp}, std::pair{"branch", kBranch}}) {
    const std::string model = std::string(name) + ".pdmodel";
    MakeModel(name, text);
    Ok({"convert", model, "-o", "low.pdmodel"});
    EXPECT_EQ(Number(OkJson({"inspect", "low.pdmodel"}), "low_flops_share"), 1) << name;
    Ok({"strip", "low.pdmodel", "-o", "back.pdmodel", "--weights", model});
    EXPECT_EQ(Read("back.pdmodel"), Read(model)) << name;
    EXPECT_EQ(Read("back.pdiparams"), Read(std::string(name) + ".pdiparams")) << name;
  }
  EXPECT_THAT(Ok({"inspect", "unknown.pdmodel"}), HasSubstr("no record for op 'my_own_op'"));
}

TEST_F(VerbsTest, OptRunsPasses) {
  MakeModel("mlp", kMlp);
  EXPECT_THAT(Ok({"opt", "mlp.pdmodel", "--passes=protect,amp-decide{level=O2}"}), HasSubstr("matmul_v2"));
  EXPECT_THAT(Ok({"opt", "mlp.prog", "--passes=drop-dead"}), HasSubstr("r = relu(s)"));
  Ok({"opt", "mlp.pdmodel", "--passes=fold-constants,dedup,drop-dead", "-o", "small.pdmodel"});
  EXPECT_EQ(Number(OkJson({"inspect", "small.pdmodel"}), "ops"), 5);
  const std::string list = Ok({"opt", "--list"});
  for (const char* pass : {"amp-decide\n", "fold-casts\n", "remove-amp-cast\n"}) EXPECT_THAT(list, HasSubstr(pass));
}

TEST_F(VerbsTest, OptTellsWhatPassesDid) {
  MakeModel("mlp", kMlp);
  const Outcome timed = Ampc({"opt", "mlp.pdmodel", "--passes=dedup,drop-dead", "--time-passes", "-o", "small.pdmodel"});
  EXPECT_EQ(timed.code, 0);
  EXPECT_THAT(timed.err, HasSubstr("drop-dead"));
  const Outcome stopped =
      Ampc({"opt", "mlp.pdmodel", "--passes=dedup,drop-dead", "--time-passes", "--stop-after", "1", "-o", "small.pdmodel"});
  EXPECT_THAT(stopped.err, Not(HasSubstr("drop-dead")));
}

TEST_F(VerbsTest, DotColoursByPrecision) {
  MakeModel("mlp", kMlp);
  Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel"});
  EXPECT_EQ(Ok({"dot", "low.pdmodel", "-o", "graph.dot"}), "");
  const std::string dot = Read("graph.dot");
  EXPECT_THAT(dot, HasSubstr("digraph"));
  EXPECT_THAT(dot, HasSubstr("matmul_v2\\nf16 [?, 3]\", fillcolor=\"#e2edfb\""));
  EXPECT_THAT(dot, HasSubstr("cast\\nf16 [?, 4]\", fillcolor=\"#d9f3ee\""));
}

TEST_F(VerbsTest, DotDrawsRepeatedBlocksOnce) {
  std::string text = "program deep version=1\n\nblock main {\n  feed v0 : f32 [?, 4]\n";
  for (int k = 0; k < 30; k += 2) {
    const std::string from = std::to_string(k), middle = std::to_string(k + 1), to = std::to_string(k + 2);
    text += "  v" + middle + " = relu(v" + from + ") : f32 [?, 4]\n  v" + to + " = tanh(v" + middle + ") : f32 [?, 4]\n";
  }
  Write("deep.prog", text + "  fetch v30\n}\n");
  Ok({"dot", "deep.prog", "-o", "graph.dot"});
  EXPECT_THAT(Read("graph.dot"), HasSubstr("×15"));
  Ok({"dot", "deep.prog", "-o", "graph.dot", "--no-group"});
  EXPECT_THAT(Read("graph.dot"), Not(HasSubstr("×15")));
  Ok({"dot", "deep.prog", "-o", "graph.dot", "--no-group", "--max-nodes", "10"});
  EXPECT_THAT(Read("graph.dot"), HasSubstr("21 ops are left out"));
}

TEST_F(VerbsTest, SvgComesFromGraphviz) {
  MakeModel("mlp", kMlp);
  if (RunProcess("/usr/bin/env", {"dot", "-V"}, folder_.path()).code != 0) GTEST_SKIP() << "the program 'dot' of Graphviz is not installed";
  Ok({"dot", "mlp.pdmodel", "-o", "graph.svg"});
  EXPECT_THAT(Read("graph.svg"), HasSubstr("</svg>"));
  EXPECT_EQ(Files().size(), 4u);  // program text, model, weights, picture: nothing temporary
}

}  // namespace
}  // namespace ampc::testing
