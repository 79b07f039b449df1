// ampc tune.
#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<float> Uniform(size_t count, unsigned seed, float scale) {
  std::vector<float> values(count);
  std::mt19937 random(seed);
  for (float& v : values) v = (static_cast<float>(random() % 2001) / 1000 - 1) * scale;
  return values;
}

std::string Literal(const std::vector<float>& values) { return absl::StrCat("[", absl::StrJoin(values, ", "), "]"); }

// Classes whose logits stand on a pedestal: in half precision 'a' has steps of a half, and all else loses next to nothing.
std::string Pedestal() {
  return absl::StrCat("program pedestal version=1\nblock main {\n  feed x : f32 [4, 16]\n  param w1 : f32 [16, 16] = ",
                      Literal(Uniform(256, 1, 0.3f)), "\n  param w2 : f32 [16, 8] = ", Literal(Uniform(128, 2, 0.3f)), R"(
  param base : f32 [8] = 1000.0
  h = matmul_v2(x, w1) : f32 [4, 16]
  r = relu(h) : f32 [4, 16]
  l = matmul_v2(r, w2) : f32 [4, 8]
  a = elementwise_add(l, base) : f32 [4, 8]
  p = softmax(a) : f32 [4, 8]
  fetch p
}
)");
}

class TuneTest : public CliTest {
 protected:
  void SetUp() override {
    MakeModel("pedestal", Pedestal());
    for (unsigned i = 0; i < 5; ++i) WriteInput(i, 1);
  }
  void WriteInput(unsigned i, float scale) const {
    const std::vector<float> values = Uniform(64, 100 + i, scale);
    WriteArchive(absl::StrCat("in", i, ".npz"), {{"x", HostTensor::FromValues<float>({4, 16}, values)}});
  }
  // The softmax, which reads 'a', is fp32 anyway.
  static std::vector<std::string> Tune(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"tune", "pedestal.pdmodel", "--exclude", "softmax"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::vector<std::string> WithInputs(std::vector<std::string> more) {
    for (int i = 0; i < 5; ++i) more.insert(more.end(), {"--input", absl::StrCat("in", i, ".npz")});
    return Tune(more);
  }
  static std::vector<std::string> Kept(const JsonValue& result) {
    std::vector<std::string> kept;
    for (const JsonValue& name : result.Find("kept_fp32")->items) kept.push_back(name.text);
    return kept;
  }
  JsonValue ResultOf(std::vector<std::string> words) const {
    words.push_back("--json");
    const Outcome outcome = Ampc(words);
    absl::StatusOr<JsonValue> json = ParseJson(outcome.out);
    EXPECT_TRUE(json.ok()) << outcome.out << outcome.err;
    return json.ok() ? *std::move(json) : JsonValue();
  }
};

TEST_F(TuneTest, KeepsTheOpThatAloneBreaksTheBudget) {
  for (const char* dtype : {"fp16", "bf16"}) {
    const JsonValue result = ResultOf(WithInputs({"--budget", "0.02", "--dtype", dtype, "--plan-out", "p.json"}));
    EXPECT_EQ(Number(result, "inputs"), 4);
    EXPECT_EQ(Number(result, "held_back"), 1);
    EXPECT_THAT(Kept(result), ElementsAre("a")) << dtype;
    EXPECT_EQ(Ampc({"convert", "pedestal.pdmodel", "-o", "low.pdmodel", "--plan", "p.json"}).code, 0);
    for (int i = 0; i < 5; ++i) Ok({"compare", "pedestal.pdmodel", "low.pdmodel", absl::StrCat("in", i, ".npz"), "--tolerance", "0.02"});
    EXPECT_THAT(Read("p.json"), HasSubstr(R"("precision": "fp32", "rule": "tune", "reason": "alone it brings an error of )"));
    Ok({"convert", "pedestal.pdmodel", "-o", "o2.pdmodel", "--dtype", dtype, "--exclude", "softmax"});
    EXPECT_EQ(Ampc({"compare", "pedestal.pdmodel", "o2.pdmodel", "in0.npz", "--tolerance", "0.02"}).code, 1) << "it is needed";
  }
}

TEST_F(TuneTest, KeepsNothingWhereNothingHasToBe) {
  const JsonValue result = ResultOf(WithInputs({"--budget", "10"}));
  EXPECT_THAT(Kept(result), SizeIs(0));
  EXPECT_EQ(Number(result, "evaluations"), 2);  // the fastest on what decides and on what is held back
}

TEST_F(TuneTest, IsDeterministic) {
  std::string plan, table;
  for (const char* threads : {"1", "2", "1"}) {
    const Outcome outcome = Ampc(WithInputs({"--budget", "0.02", "--threads", threads, "--plan-out", "p.json", "--plot", "p.svg"}));
    EXPECT_EQ(outcome.code, 0);
    const std::string text = outcome.out.substr(0, outcome.out.rfind("; "));  // without the time that it took
    if (plan.empty()) plan = Read("p.json") + Read("p.svg"), table = text;
    EXPECT_EQ(Read("p.json") + Read("p.svg"), plan);
    EXPECT_EQ(text, table);
  }
  EXPECT_THAT(table, AllOf(HasSubstr("chosen: 3 of 4 ops that may be low are, 1 stay"), HasSubstr("plan: p.json"), HasSubstr("\n*  ")));
  EXPECT_THAT(Read("p.svg"), AllOf(HasSubstr("<svg"), HasSubstr("<circle"), HasSubstr("not good")));
}

TEST_F(TuneTest, ObeysTheJudge) {
  // The first two calls are about fp32 and the fastest assignment.
  const std::string judge =
      "test -f $AMPC_OUTPUTS/3.npz -o -f $AMPC_OUTPUTS/4.npz || exit 1; cmp -s $AMPC_OUTPUTS/0.npz $AMPC_REFERENCE/0.npz; "
      "ls $AMPC_OUTPUTS $AMPC_REFERENCE | grep -c npz >> calls; test $(wc -l < calls) -ne ";
  const JsonValue all = ResultOf(WithInputs({"--judge", judge + "99"}));
  EXPECT_THAT(Kept(all), SizeIs(0));
  EXPECT_EQ(Read("calls"), "8\n8\n2\n");  // four inputs that decide, one that is held back, each with its reference
  Write("calls", "");
  const JsonValue some = ResultOf(WithInputs({"--judge", judge + "2"}));
  EXPECT_NE(Kept(some).size(), 0u) << "the fastest was refused";
  EXPECT_GT(Number(some, "partial_evaluations"), 0);
}

TEST_F(TuneTest, FindsNothingWhereTheJudgeAcceptsNothing) {
  const auto before = Files();
  const Outcome outcome = Ampc(WithInputs({"--judge", "echo judged; mkdir -p \"$TMPDIR\"; exit 3", "--plan-out", "p.json"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("nothing found: no assignment with low ops is good by the judge; the best has "));
  EXPECT_THAT(outcome.out, Not(HasSubstr("judged")));
  EXPECT_THAT(outcome.err, HasSubstr("judged"));
  EXPECT_EQ(Files(), before) << "no plan, and nothing of the judge's";
}

TEST_F(TuneTest, ReportsTheBestWhereTheBudgetIsTooSmall) {
  const Outcome outcome = Ampc(WithInputs({"--budget", "1e-9"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("no assignment with low ops is within 1e-09; the best has "));
}

// The last input alone is beyond the range, and what is computed of it is not.
TEST_F(TuneTest, VerifiesOnWhatIsHeldBack) {
  std::vector<float> values(64, 0);
  values[0] = 100000;
  WriteArchive("in4.npz", {{"x", HostTensor::FromValues<float>({4, 16}, values)}});
  const JsonValue result = ResultOf(WithInputs({"--budget", "10"}));
  EXPECT_THAT(Kept(result), ElementsAre("h"));
  EXPECT_EQ(Number(result, "held_back"), 0);
  EXPECT_THAT(Ampc(WithInputs({"--budget", "10"})).err, HasSubstr("all inputs decide, and none verifies"));
}

TEST_F(TuneTest, SaysThatOneInputDoesBoth) {
  const Outcome outcome = Ampc(Tune({"in0.npz", "--budget", "0.02"}));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("one input both decides and verifies"));
  EXPECT_EQ(Ampc(Tune({"--random", "--runs", "2", "--budget", "0.02"})).code, 0);
}

TEST_F(TuneTest, SaysWhatIsWrong) {
  ExpectFailure(Tune({}), 2, "no inputs: give files");
  ExpectFailure(Tune({"in0.npz", "--random"}), 2, "--random makes the inputs");
  ExpectFailure(Tune({"in0.npz", "--runs", "3"}), 2, "--runs is for --random");
  ExpectFailure(Tune({"in0.npz", "--budget", "0"}), 2, "--budget is 0");
  ExpectFailure(Tune({"in0.npz", "--evaluations", "1"}), 2, "--evaluations is 1");
  ExpectFailure(Tune({"in0.npz", "--goal", "size"}), 2, "--goal");
  ExpectFailure(Tune({"in0.npz", "--level", "O1"}), 2, "tune contradicts --level O1");
  ExpectFailure(Tune({"in0.npz", "--plan", "p.json"}), 3, "p.json");
  ExpectFailure(Tune({"in0.npz", "--plan-out", "in0.npz"}), 2, "in0.npz");
  ExpectFailure(Tune({"in0.npz", "--plan-out", "absent/p.json"}), 5, "absent/");
  ExpectFailure(Tune({"absent.npz"}), 3, "absent.npz");
  const Outcome outcome = Ampc(Tune({"in0.npz", "--judge", "no-such-command"}));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("ampc tune: --judge: 'no-such-command' cannot be run"));  // behind what the shell says
  ExpectFailure(Tune({"in0.npz", "--judge", "kill -9 $$"}), 2, "signal 9 ended");
  Ok({"convert", "pedestal.pdmodel", "-o", "low.pdmodel"});
  ExpectFailure({"tune", "low.pdmodel", "in0.npz"}, 2, "was converted before");
}

}  // namespace
}  // namespace ampc::testing
