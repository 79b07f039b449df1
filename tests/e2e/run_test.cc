// ampc run and compare on small models.
#include <cmath>

#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RunTest : public CliTest {
 protected:
  void SetUp() override {
    MakeModel("mlp", kMlp);
    WriteArchive("in.npz", {{"x", HostTensor::Of<float>({2, 4}, {1, 2, -1, 0.5f, -2, 0.25f, 3, 1})}});
  }
  std::vector<float> Run(const std::string& model, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> args = {"run", model, "--input", "in.npz", "-o", "out.npz"};
    args.insert(args.end(), more.begin(), more.end());
    Ok(args);
    const std::map<std::string, HostTensor> out = ReadArchive("out.npz");
    EXPECT_TRUE(out.size() == 1 && out.contains("p"));
    const auto values = out.begin()->second.values<float>();
    return {values.begin(), values.end()};
  }
};

// The result of kMlp, in double.
std::vector<double> Reference(const std::vector<double>& x) {
  const double w1[4][3] = {{0.1, -0.2, 0.3}, {0.4, 0.7, -0.6}, {0.9, 0.11, -0.13}, {0.17, 0.19, 0.23}};
  const double b1[3] = {0.01, 0.02, -0.03};
  const double w2[3][2] = {{1.1, -1.2}, {1.3, 1.4}, {-1.7, 1.9}};
  double logits[2] = {0, 0};
  for (int j = 0; j < 3; ++j) {
    double h = b1[j];
    for (int i = 0; i < 4; ++i) h += x[i] * w1[i][j];
    for (int k = 0; k < 2; ++k) logits[k] += std::max(h, 0.0) * w2[j][k];
  }
  const double sum = std::exp(logits[0]) + std::exp(logits[1]);
  return {std::exp(logits[0]) / sum, std::exp(logits[1]) / sum};
}

TEST_F(RunTest, ComputesTheModel) {
  const std::vector<float> got = Run("mlp.pdmodel");
  ASSERT_EQ(got.size(), 4u);
  for (int row = 0; row < 2; ++row) {
    const std::vector<double> want = row == 0 ? Reference({1, 2, -1, 0.5}) : Reference({-2, 0.25, 3, 1});
    for (int k = 0; k < 2; ++k)
      EXPECT_TRUE(Near(got[row * 2 + k], want[k], ToleranceFor(DType::kF32))) << got[row * 2 + k] << " " << want[k];
  }
}

TEST_F(RunTest, ConvertedModelsComputeTheSameWithinTheirType) {
  const std::vector<float> want = Run("mlp.pdmodel");
  for (const auto& [name, dtype] : {std::pair{"fp16", DType::kF16}, std::pair{"bf16", DType::kBF16}}) {
    Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel", "--dtype", name});
    const std::vector<float> got = Run("low.pdmodel");
    EXPECT_NE(got, want) << name;
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(Near(got[i], want[i], ToleranceFor(dtype))) << name << " " << got[i] << " " << want[i];
    const std::vector<float> strict = Run("low.pdmodel", {"--strict-rounding"});
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(Near(strict[i], want[i], ToleranceFor(dtype))) << name << " " << strict[i] << " " << want[i];
  }
}

TEST_F(RunTest, EveryFormatRuns) {
  const std::vector<float> want = Run("mlp.pdmodel");
  EXPECT_EQ(Run("mlp.prog"), want);
  Ok({"convert", "mlp.pdmodel", "-o", "mlp.ampc", "--level", "O0"});
  EXPECT_EQ(Run("mlp.ampc"), want);
}

TEST_F(RunTest, WritesSafetensors) {
  Ok({"run", "mlp.pdmodel", "--input", "in.npz", "-o", "out.safetensors"});
  EXPECT_EQ(Run("mlp.pdmodel").size(), 4u);
  Ok({"run", "mlp.pdmodel", "--input", "in.npz"});
  EXPECT_THAT(Read("out.safetensors"), HasSubstr("\"p\""));
}

TEST_F(RunTest, SummarisesAndTimes) {
  EXPECT_THAT(Ok({"run", "mlp.pdmodel", "--input", "in.npz", "--repeat", "4"}),
              AllOf(HasSubstr("f32 [2, 2]"), HasSubstr("then 3 runs: best")));
  const JsonValue json = OkJson({"run", "mlp.pdmodel", "--input", "in.npz", "--repeat", "4"});
  EXPECT_EQ(Number(json, "runs"), 3);
  ASSERT_EQ(json.Find("fetches")->items.size(), 1u);
  const JsonValue& p = json.Find("fetches")->items[0];
  EXPECT_EQ(Text(p, "name"), "p");
  EXPECT_TRUE(Near(Number(p, "mean"), 0.5, ToleranceFor(DType::kF32)));
  EXPECT_EQ(Number(p, "non_finite"), 0);
}

TEST_F(RunTest, ProfileIsATrace) {
  Ok({"run", "mlp.pdmodel", "--input", "in.npz", "--profile", "trace.json", "--strict-rounding"});
  absl::StatusOr<JsonValue> trace = ParseJson(Read("trace.json"));
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_NE(trace->Find("traceEvents"), nullptr);
  EXPECT_EQ(trace->Find("traceEvents")->items.size(), 5u);
  EXPECT_EQ(Text(trace->Find("traceEvents")->items[0], "cat"), "matmul_v2");
}

TEST_F(RunTest, VerboseNamesEveryStep) {
  const Outcome outcome = Ampc({"run", "mlp.pdmodel", "--input", "in.npz", "--verbose"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("matmul_v2"), HasSubstr("softmax")));
}

TEST_F(RunTest, CheckNanInfNamesTheFirstOp) {
  Ok({"run", "mlp.pdmodel", "--input", "in.npz", "--check-nan-inf"});
  Ok({"run", "mlp.pdmodel", "--input", "in.npz", "--check-nan-inf", "--strict-rounding"});
  WriteArchive("bad.npz", {{"x", HostTensor::Of<float>({1, 4}, {1, INFINITY, 1, 1})}});
  const Outcome outcome = Ampc({"run", "mlp.pdmodel", "--input", "bad.npz", "--check-nan-inf", "--strict-rounding", "-o", "bad_out.npz"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("matmul_v2"), HasSubstr("infinite")));
  EXPECT_FALSE(Files().contains("bad_out.npz"));
}

TEST_F(RunTest, FeedsComeFromSeveralSources) {
  Write(
      "add.prog",
      "program add version=1\n\nblock main {\n  feed a : f32 [2]\n  feed b : i64 [2]\n  d = cast(b) in_dtype=i64 out_dtype=f32 : f32 [2]\n"
      "  y = elementwise_add(a, d) : f32 [2]\n  fetch y\n}\n");
  WriteArchive("a.npz", {{"a", HostTensor::Of<float>({2}, {1, 2})}});
  WriteArchive("b.npz", {{"b", HostTensor::Of<int64_t>({2}, {10, 20})}});
  Ok({"run", "add.prog", "--input", "a.npz", "--input", "b.npz", "-o", "out.npz"});
  EXPECT_EQ(ReadArchive("out.npz").at("y"), HostTensor::Of<float>({2}, {11, 22}));
}

// The convolution in NCHW, its normalisation, the largest value of each window.
// A file of measured choices is made once; a second run only reads it, as `bench` does.
TEST_F(RunTest, MeasuresWhichImplementationIsFastest) {
  const std::vector<float> want = Run("mlp.pdmodel"), first = Run("mlp.pdmodel", {"--tune-plans", "choices.json"});
  const std::string kept = Read("choices.json");
  EXPECT_THAT(kept, HasSubstr("\"implementation\": \"onednn:"));
  for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(Near(first[i], want[i], ToleranceFor(DType::kF32)));
  EXPECT_EQ(Run("mlp.pdmodel", {"--tune-plans", "choices.json"}), first);
  Ok({"bench", "mlp.pdmodel", "--input", "in.npz", "--seconds", "0", "--tune-plans", "choices.json"});
  EXPECT_EQ(Read("choices.json"), kept);
  ExpectFailure({"run", "mlp.pdmodel", "--input", "in.npz", "--tune-plans", "in.npz"}, 2, "in.npz");
  ExpectFailure({"run", "mlp.pdmodel", "--input", "in.npz", "--tune-plans", "mlp.prog"}, 3, "mlp.prog");
  ExpectFailure({"bench", "simplenet", "--tune-plans", "choices.json"}, 2, "--tune-plans: found network 'simplenet'");
}

TEST_F(RunTest, RunsAConvolution) {
  MakeModel("conv", kConvNet);
  std::vector<float> ones(32, 1.0f);
  WriteArchive("image.npz", {{"image", HostTensor::FromValues<float>({2, 1, 4, 4}, ones)}});
  Ok({"run", "conv.pdmodel", "--input", "image.npz", "-o", "out.npz"});
  const HostTensor y = ReadArchive("out.npz").at("y");
  ASSERT_EQ(std::vector<int64_t>(y.dims().begin(), y.dims().end()), (std::vector<int64_t>{2, 8}));
  // Every window of 2 x 2 has one position where all nine taps lie inside the image.
  const double first = (0.9 - 0.3) / std::sqrt(1.3 + 1e-5) * 1.1 + 0.1, second = (0.9 - 0.2) / std::sqrt(0.7 + 1e-5) * 0.9 - 0.1;
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(Near(y.values<float>()[i], i % 8 < 4 ? first : second, ToleranceFor(DType::kF32))) << i;
}

class CompareTest : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel"});
  }
};

TEST_F(CompareTest, AModelEqualsItself) {
  EXPECT_THAT(Ok({"compare", "mlp.pdmodel", "mlp.pdmodel", "--input", "in.npz", "--tolerance", "0"}), HasSubstr("5 values compared"));
}

TEST_F(CompareTest, WithinTolerance) {
  const std::string text = Ok({"compare", "mlp.pdmodel", "low.pdmodel", "--input", "in.npz", "--tolerance", "0.01", "--all"});
  for (const char* part : {"max ulp", "cosine", "logits", "f32 / f16"}) EXPECT_THAT(text, HasSubstr(part));
}

TEST_F(CompareTest, OverToleranceIsNo) {
  const Outcome outcome = Ampc({"compare", "mlp.pdmodel", "low.pdmodel", "--input", "in.npz", "--tolerance", "1e-9"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("first divergence: 'h' (matmul_v2)"));
  EXPECT_THAT(outcome.out, HasSubstr("\nFAIL: output 'p': max rel "));
  EXPECT_EQ(outcome.err, "");
}

TEST_F(CompareTest, EndsWithAVerdict) {
  EXPECT_THAT(Ok({"compare", "mlp.pdmodel", "low.pdmodel", "in.npz"}),
              AllOf(HasSubstr("first class the same in 2 of 2 rows"), HasSubstr("\nPASS: ")));
  std::string wrong = kMlp;
  wrong.replace(wrong.find("1.1, -1.2"), 9, "-1.1, 1.2");
  MakeModel("wrong", wrong);
  const Outcome no = Ampc({"compare", "mlp.pdmodel", "wrong.pdmodel", "in.npz"});
  EXPECT_EQ(no.code, 1);
  EXPECT_THAT(no.out, AllOf(HasSubstr("lost most: "), HasSubstr("\nFAIL: output 'p'")));
  EXPECT_EQ(no.err, "");
  EXPECT_THAT(Ampc({"compare", "mlp.pdmodel", "wrong.pdmodel", "in.npz", "--json"}).out, HasSubstr("\"passed\": false"));
  EXPECT_THAT(Ok({"compare", "mlp.pdmodel", "low.pdmodel", "in.npz", "--outputs-only"}), HasSubstr("1 values compared"));
  EXPECT_EQ(Ampc({"compare", "mlp.pdmodel", "low.pdmodel", "in.npz", "--rtol", "1e-7"}).code, 1);
  Ok({"compare", "mlp.pdmodel", "low.pdmodel", "in.npz", "--rtol", "1e-2", "--atol", "1e-2"});
}

TEST_F(CompareTest, WithoutAFile) {
  const std::string text = Ok({"compare", "mlp.pdmodel", "low.pdmodel", "--random", "--dims", "x=3,4"});
  EXPECT_THAT(text, HasSubstr("PASS: "));
  Ok({"run", "mlp.pdmodel", "--random", "--seed", "1", "-o", "a.npz"});
  Ok({"run", "mlp.pdmodel", "--random", "--seed", "1", "-o", "b.npz"});
  Ok({"run", "mlp.pdmodel", "--random", "--seed", "2", "-o", "c.npz"});
  EXPECT_EQ(Read("a.npz"), Read("b.npz"));
  EXPECT_NE(Read("a.npz"), Read("c.npz"));
  ExpectFailure({"run", "mlp.pdmodel"}, 2, "--random");
  ExpectFailure({"run", "mlp.pdmodel", "in.npz", "--random"}, 2, "one of the two");
  ExpectFailure({"run", "mlp.pdmodel", "in.npz", "--dims", "x=1,4"}, 2,
                "--dims is for pictures (photo.jpg) and for feeds that are made up");
  ExpectFailure({"run", "mlp.pdmodel", "--random", "--dims", "y=1,4"}, 2, "'y'");
  ExpectFailure({"run", "mlp.pdmodel", "--random", "--dims", "x=1,5"}, 2, "x");
  ExpectFailure({"run", "mlp.pdmodel", "--random", "--dims", "1,5"}, 2, "needed NAME=1,3,48,320");
  Write("rows.prog",
        "program rows version=1\n\nblock main {\n  feed x : f32 [?, ?]\n  const y : f32 [3] = [1, 2, 3]\n  z = elementwise_add(x, y) : f32 "
        "[?, ?]\n  fetch z\n}\n");
  ExpectFailure({"run", "rows.prog", "--random", "--dims", "x=2,5"}, 2, "with feeds of x=2,5, which --dims changes");
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"run", "rows.prog"}, {"compare", "rows.prog", "rows.prog"}}) {
    std::vector<std::string> words = verb;
    words.push_back("--random");
    const Outcome outcome = Ampc(words);  // one element fits every row
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("the model takes no feeds of x=1,32 or x=1,128 or x=1,16; they are of x=1,1\n"));
  }
  Write("product.prog",
        "program product version=1\n\nblock main {\n  feed x : f32 [?, ?]\n  const w : f32 [3, 1] = [1, 2, 3]\n  z = matmul_v2(x, w) : f32 "
        "[?, 1]\n  fetch z\n}\n");
  ExpectFailure({"run", "product.prog", "--random"}, 2, "with feeds of x=1,32 or x=1,128 or x=1,16 or x=1,1, which --dims changes");
}

// A feed that is given again begins another run; each run has to pass, and what is shown is of the worst.
TEST_F(CompareTest, SeveralRuns) {
  WriteArchive("far.npz", {{"x", HostTensor::Of<float>({1, 4}, {1e4f, 3e3f, -2e4f, 1e3f})}});
  WriteArchive("near.npz", {{"x", HostTensor::Of<float>({1, 4}, {1, 2, 3, 4})}});
  const std::string text = Ok({"compare", "mlp.pdmodel", "low.pdmodel", "in.npz", "near.npz"});
  EXPECT_THAT(text, AllOf(HasSubstr("pass  in.npz: "), HasSubstr("pass  near.npz: "), HasSubstr("which differs most"),
                          HasSubstr("PASS: the output is within what f16 may change in each of 2 runs\n")));
  std::string wrong = kMlp;
  wrong.replace(wrong.find("1.1, -1.2"), 9, "1.1, -1.1");
  MakeModel("wrong", wrong);
  const Outcome no = Ampc({"compare", "mlp.pdmodel", "wrong.pdmodel", "far.npz", "near.npz", "--tolerance", "1e-6"});
  EXPECT_EQ(no.code, 1);
  EXPECT_THAT(no.out, AllOf(HasSubstr("pass  far.npz"), HasSubstr("fail  near.npz"), HasSubstr("FAIL: near.npz: output 'p': "),
                            HasSubstr("; 1 of 2 runs fail\n")));
  const JsonValue json = OkJson({"compare", "mlp.pdmodel", "low.pdmodel", "near.npz", "in.npz"});
  ASSERT_EQ(json.Find("runs")->items.size(), 2u);
  EXPECT_EQ(Text(json.Find("runs")->items[0], "source"), "near.npz");
  EXPECT_TRUE(json.Find("runs")->items[1].Find("passed")->boolean);
  EXPECT_FALSE(Text(json, "values_of").empty());
}

TEST_F(CompareTest, Csv) {
  Ok({"compare", "mlp.pdmodel", "low.pdmodel", "in.npz", "--csv", "v.csv"});
  const std::string table = Read("v.csv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 6);
  EXPECT_THAT(table,
              AllOf(::testing::StartsWith("name,op,dtype_a,dtype_b,"), HasSubstr("\nh,matmul_v2,f32,f16,1,0,"), HasSubstr("\np,softmax,")));
  for (size_t at = 0; at < table.size(); at = table.find('\n', at) + 1) {
    std::string row = table.substr(at, table.find('\n', at) - at);
    if (const size_t open = row.find('"'); open != std::string::npos) row.resize(open);
    EXPECT_EQ(std::count(row.begin(), row.end(), ','), 15) << row;
  }
  ExpectFailure({"compare", "mlp.pdmodel", "low.pdmodel", "in.npz", "--csv", "v.txt"}, 2, ".csv");
  ExpectFailure({"compare", "mlp.pdmodel", "low.pdmodel", "in.npz", "--csv", "nowhere/v.csv"}, 5, "nowhere");
}

TEST_F(RunTest, TakesTheFeedsOfOneRun) {
  WriteArchive("other.npz", {{"x", HostTensor::Of<float>({1, 4}, {1, 2, 3, 4})}});
  ExpectFailure({"run", "mlp.pdmodel", "in.npz", "other.npz"}, 2,
                "'in.npz' and 'other.npz' both have feed 'x'; these are the feeds of 2 runs, those of one are needed");
  ExpectFailure({"bench", "mlp.pdmodel", "--input", "in.npz", "other.npz"}, 2, "both have feed 'x'");
}

TEST_F(CompareTest, Json) {
  const JsonValue json = OkJson({"compare", "mlp.pdmodel", "low.pdmodel", "--input", "in.npz"});
  ASSERT_NE(json.Find("values"), nullptr);
  EXPECT_EQ(json.Find("values")->items.size(), 5u);
  int fetches = 0;
  for (const JsonValue& value : json.Find("values")->items) {
    fetches += value.Find("fetch")->boolean ? 1 : 0;
    EXPECT_TRUE(Near(0, Number(value, "max_rel"), ToleranceFor(DType::kF16))) << Text(value, "name");
    EXPECT_GT(Number(value, "cosine"), 0.999) << Text(value, "name");
  }
  EXPECT_EQ(fetches, 1);
}

// h = tanh(h + x), n times.
class LoopTest : public CliTest {
 protected:
  void SetUp() override {
    Write("loop.prog", R"(program loop version=1

block main {
  feed  x : f32 [?]
  feed  n : i64 [1]
  const zero : i64 [1] = [0]
  carry i : i64 [1]
  carry h : f32 [?]
  carry more : bool [1]
  i <- assign(zero)
  h <- assign(x)
  more <- less_than(i, n)
  i, h, more <- while(X=[n, x], Condition=more) sub_block=&body
  y = scale(h) scale=2.0 : f32 [?]
  fetch y
}

block body parent=main {
  sum = elementwise_add(h, x) : f32 [?]
  h <- tanh(sum)
  i <- increment(i)
  more <- less_than(i, n)
}
)");
    WriteArchive("in.npz", {{"x", HostTensor::Of<float>({2}, {0.5f, -1})}, {"n", HostTensor::Of<int64_t>({1}, {3})}});
  }
};

TEST_F(LoopTest, RunsAsTextAndAsAModel) {
  Ok({"run", "loop.prog", "--input", "in.npz", "-o", "a.npz", "--check-nan-inf"});
  float want[2] = {0.5f, -1};
  for (int i = 0; i < 3; ++i) {
    want[0] = std::tanh(want[0] + 0.5f);
    want[1] = std::tanh(want[1] - 1);
  }
  const HostTensor y = ReadArchive("a.npz").at("y");
  for (int k = 0; k < 2; ++k) EXPECT_TRUE(Near(y.values<float>()[k], 2 * want[k], ToleranceFor(DType::kF32)));
  Ok({"convert", "loop.prog", "-o", "loop.pdmodel", "--level", "O0"});
  Ok({"run", "loop.pdmodel", "--input", "in.npz", "-o", "b.npz"});
  EXPECT_EQ(ReadArchive("b.npz").at("y"), y);
}

TEST_F(LoopTest, StepsOfEachIterationAreSeen) {
  Ok({"convert", "loop.prog", "-o", "low.prog"});
  EXPECT_THAT(Ok({"compare", "loop.prog", "low.prog", "--input", "in.npz", "--all"}), AllOf(HasSubstr("sum #3 "), HasSubstr("more #4 ")));
  Ok({"run", "loop.prog", "--input", "in.npz", "--profile", "trace.json"});
  size_t tanhs = 0;
  const std::string trace = Read("trace.json");
  for (size_t at = trace.find("\"cat\": \"tanh\""); at != std::string::npos; at = trace.find("\"cat\": \"tanh\"", at + 1)) ++tanhs;
  EXPECT_EQ(tanhs, 3u);
}

class ExampleTest : public RunTest {};

TEST_F(ExampleTest, LoadAndRun) {
  const Outcome outcome = RunProcess("tools/examples/load_and_run", {"mlp.pdmodel", "3"}, folder_.path());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "p: 6 elements\n");
  EXPECT_EQ(RunProcess("tools/examples/load_and_run", {"absent.pdmodel"}, folder_.path()).code, 3);
  EXPECT_EQ(RunProcess("tools/examples/load_and_run", {}, folder_.path()).code, 2);
}

}  // namespace
}  // namespace ampc::testing
