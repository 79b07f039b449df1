// ampc convert --plan-out and --plan.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

// One layer behind the other; all but the number of the value's name is the same.
std::string Layers(int layers, const std::string& name) {
  std::string text = "program layers version=1\nblock main {\n  feed x : f32 [2, 4]\n  param w : f32 [4, 4] = 0.1\n";
  std::string last = "x";
  for (int i = 0; i < layers; ++i) {
    const std::string product = absl::StrCat(name, 2 * i), act = absl::StrCat(name, 2 * i + 1);
    absl::StrAppend(&text, "  ", product, " = matmul_v2(", last, ", w) : f32 [2, 4]\n  ", act, " = tanh(", product, ") : f32 [2, 4]\n");
    last = act;
  }
  return absl::StrCat(text, "  ", name, "_out = exp(", last, ") : f32 [2, 4]\n  fetch ", name, "_out\n}\n");
}

class PlanTest : public CliTest {
 protected:
  std::vector<std::string> Convert(const std::string& model, const std::string& to, std::vector<std::string> more) const {
    more.insert(more.begin(), {"convert", model, "-o", to});
    return more;
  }
  void ExpectSameModels(const std::string& a, const std::string& b, const std::string& what) const {
    EXPECT_EQ(Read(a + ".pdmodel"), Read(b + ".pdmodel")) << what;
    EXPECT_EQ(Read(a + ".pdiparams"), Read(b + ".pdiparams")) << what;
  }
};

TEST_F(PlanTest, GivenBackMakesTheSameBytes) {
  MakeModel("mlp", kMlp);
  WriteArchive("in.npz", {{"x", HostTensor::Of<float>({1, 4}, {1e5f, 1, 1, 1})}});
  const std::vector<std::vector<std::string>> options = {{},
                                                         {"--dtype", "bf16"},
                                                         {"--level", "O1"},
                                                         {"--exclude", "relu"},
                                                         {"--low-io"},
                                                         {"--calibrate", "in.npz"},
                                                         {"--black-vars", "h", "--on-tiny", "flush"}};
  for (const std::vector<std::string>& some : options) {
    const std::string what = some.empty() ? "default" : some[0] + " " + some.back();
    std::vector<std::string> first = Convert("mlp.pdmodel", "a.pdmodel", some);
    first.insert(first.end(), {"--plan-out", "p.json"});
    ASSERT_EQ(Ampc(first).code, 0) << what;
    ASSERT_EQ(Ampc(Convert("mlp.pdmodel", "b.pdmodel", {"--plan", "p.json"})).code, 0) << what;
    ExpectSameModels("a", "b", what);
    ASSERT_EQ(Ampc(Convert("a.pdmodel", "c.pdmodel", {"--plan-out", "q.json"})).code, 0) << what;
    EXPECT_EQ(Read("q.json"), Read("p.json")) << what << ": the plan of a model that was converted is that of its original";
    ASSERT_EQ(Ampc(Convert("a.pdmodel", "c.pdmodel", {"--plan", "p.json"})).code, 0) << what;
    ExpectSameModels("a", "c", what);
  }
}

TEST_F(PlanTest, DecidesWhereItWasEdited) {
  MakeModel("mlp", kMlp);
  Ok(Convert("mlp.pdmodel", "a.pdmodel", {"--plan-out", "p.json"}));
  const std::string plan = Read("p.json");
  const std::string relu = R"({"op": "relu", "value": "r",)";
  const size_t at = plan.find(R"("precision": "low")", plan.find(relu));
  ASSERT_NE(at, std::string::npos);
  std::string edited = plan;
  edited.replace(at, 18, R"("precision": "fp32")");
  Write("edited.json", edited);
  Ok(Convert("mlp.pdmodel", "b.pdmodel", {"--plan", "edited.json", "--report", "r.json"}));
  EXPECT_THAT(
      Read("r.json"),
      HasSubstr(R"({"op": "relu", "value": "r", "precision": "fp32", "dtype": "float32", "rule": "plan", "reason": "the plan says so"})"));
  EXPECT_NE(Read("a.pdmodel"), Read("b.pdmodel"));
  Ok(Convert("b.pdmodel", "c.pdmodel", {"--plan", "edited.json"}));
  Ok(Convert("b.pdmodel", "c.pdmodel", {}));
  ExpectSameModels("b", "c", "again");
  ExpectFailure(Convert("b.pdmodel", "d.pdmodel", {"--plan", "p.json"}), 2, "was converted with --plan=");
  Ok({"strip", "b.pdmodel", "-o", "back.pdmodel", "--weights", "mlp.pdmodel"});
  EXPECT_EQ(Read("back.pdmodel"), Read("mlp.pdmodel"));
}

TEST_F(PlanTest, FindsTheOpsOfAModelWithOtherNames) {
  MakeModel("first", Layers(12, "a"));
  MakeModel("second", Layers(12, "other"));
  Ok(Convert("first.pdmodel", "low.pdmodel", {"--exclude", "a5,a9", "--plan-out", "p.json"}));
  Ok(Convert("second.pdmodel", "low2.pdmodel", {"--plan", "p.json", "--report", "r.json"}));
  for (int i = 0; i < 24; ++i) {
    const bool fp32 = i == 5 || i == 9;
    EXPECT_THAT(Read("r.json"), HasSubstr(absl::StrCat(R"("value": "other)", i, R"(", "precision": ")", fp32 ? "fp32" : "low")));
  }
}

TEST_F(PlanTest, ListsWhatFitsNoOp) {
  MakeModel("mlp", kMlp);
  MakeModel("exp", kExp);
  Ok(Convert("mlp.pdmodel", "a.pdmodel", {"--plan-out", "p.json"}));
  const Outcome outcome = Ampc(Convert("exp.pdmodel", "b.pdmodel", {"--plan", "p.json"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("plan: relu 'r' (low) fits no op: the model has none like it"));
  EXPECT_THAT(outcome.err, HasSubstr("plan: 2 ops are decided without it"));
}

TEST_F(PlanTest, SaysWhereAnOpCannotBeLow) {
  MakeModel("exp", kExp);
  Write("mark.prog", "program mark version=1\nblock main {\n  feed x : f64 [2]\n  y = relu(x) : f64 [2]\n  fetch y\n}\n");
  Ok(Convert("mark.prog", "a.prog", {"--plan-out", "p.json"}));
  Write("p.json", absl::StrReplaceAll(Read("p.json"), {{R"("precision": "fp32")", R"("precision": "low")"}}));
  const Outcome outcome = Ampc(Convert("mark.prog", "b.prog", {"--plan", "p.json"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("plan: 1 op cannot be low as it says, first"));
}

TEST_F(PlanTest, SaysWhatIsWrong) {
  MakeModel("mlp", kMlp);
  Ok(Convert("mlp.pdmodel", "a.pdmodel", {"--plan-out", "p.json"}));
  Write("bad.json", "{}");
  Write("cut.json", Read("p.json").substr(0, 300));
  ExpectFailure(Convert("mlp.pdmodel", "o.pdmodel", {"--plan", "absent.json"}), 3, "absent.json");
  ExpectFailure(Convert("mlp.pdmodel", "o.pdmodel", {"--plan", "cut.json"}), 3, "cut.json");
  ExpectFailure(Convert("mlp.pdmodel", "o.pdmodel", {"--plan", "bad.json"}), 3, "bad.json");
  ExpectFailure(Convert("mlp.pdmodel", "o.pdmodel", {"--plan", "p.json", "--calibrate", "in.npz"}), 2, "--plan contradicts --calibrate");
  ExpectFailure(Convert("mlp.pdmodel", "o.pdmodel", {"--plan-out", "q.json", "--compat", "paddle-2.6"}), 2,
                "--plan-out contradicts --compat");
  ExpectFailure(Convert("mlp.pdmodel", "o.pdmodel", {"--plan-out", "q.json", "--level", "O0"}), 2, "--plan-out needs --level O1 or O2");
  ExpectFailure(Convert("mlp.pdmodel", "o.pdmodel", {"--plan", "p.json", "--plan-out", "p.json"}), 2, "p.json");
  ExpectFailure(Convert("mlp.pdmodel", "o.pdmodel", {"--plan-out", "absent/p.json"}), 5, "absent/");
}

}  // namespace
}  // namespace ampc::testing
