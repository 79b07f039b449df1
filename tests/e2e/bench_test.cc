// ampc bench on small models: what it prints, and what it refuses. How fast anything is, no test says.
#include <algorithm>

#include "absl/strings/str_split.h"
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class BenchTest : public CliTest {
 protected:
  void SetUp() override { MakeModel("mlp", kMlp); }
};

TEST_F(BenchTest, MeasuresAModelForEachBatch) {
  const std::string text = Ok({"bench", "mlp.pdmodel", "--batch", "1,3", "--seconds", "0", "--ops", "0"});
  EXPECT_THAT(text, HasSubstr("level  batch    runs"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

// Two lines of one session: the first run with other dims is a first run again, the load is not repeated.
TEST_F(BenchTest, DimsGivenAgainAreAnotherLine) {
  const std::string text = Ok({"bench", "mlp.pdmodel", "--dims", "x=2,4", "--dims", "x=5,4", "--seconds", "0", "--json"});
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 2u) << text;
  const absl::StatusOr<JsonValue> first = ParseJson(lines[0]), second = ParseJson(lines[1]);
  ASSERT_TRUE(first.ok() && second.ok()) << text;
  EXPECT_EQ(Number(*first, "batch"), 2);
  EXPECT_EQ(Number(*second, "batch"), 5);
  EXPECT_EQ(Number(*first, "load_seconds"), Number(*second, "load_seconds"));
  EXPECT_GT(Number(*second, "first_run_seconds"), 0);
  EXPECT_GE(Number(*second, "peak_bytes"), Number(*first, "peak_bytes"));
  EXPECT_GT(Number(*first, "peak_bytes"), 1e6);
  EXPECT_THAT(lines[1], HasSubstr("\"dims\":{\"x\":[5,4]}"));
}

TEST_F(BenchTest, SaysWhereARunsTimeGoes) {
  const std::string text = Ok({"bench", "mlp.pdmodel", "--seconds", "0", "--strict-rounding"});
  EXPECT_THAT(text, AllOf(HasSubstr("x=1,4: a run of"), HasSubstr("implementation"), HasSubstr("matmul_v2"), HasSubstr("softmax"),
                          HasSubstr("between ops")));
  const JsonValue line = OkJson({"bench", "mlp.pdmodel", "--seconds", "0", "--strict-rounding", "--ops", "2"});
  const JsonValue* ops = line.Find("profile");
  ASSERT_NE(ops, nullptr);
  ASSERT_EQ(ops->items.size(), 3u);
  EXPECT_THAT(Text(ops->items[2], "op"), HasSubstr(" others"));
  double steps = 0, seconds = Number(line, "between_seconds"), share = 0;
  for (const JsonValue& op : ops->items) {
    steps += Number(op, "steps");
    seconds += Number(op, "seconds");
    share += Number(op, "share");
  }
  EXPECT_EQ(steps, 5);
  EXPECT_NEAR(seconds, Number(line, "profiled_seconds"), 1e-9);
  EXPECT_NEAR(share, 1 - Number(line, "between_seconds") / Number(line, "profiled_seconds"), 1e-9);
  EXPECT_GE(Number(ops->items[0], "seconds"), Number(ops->items[1], "seconds"));
}

TEST_F(BenchTest, ProfileIsATrace) {
  Ok({"bench", "mlp.pdmodel", "--batch", "1,3", "--seconds", "0", "--strict-rounding", "--ops", "0", "--profile", "trace.json"});
  const absl::StatusOr<JsonValue> trace = ParseJson(Read("trace.json"));
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_NE(trace->Find("traceEvents"), nullptr);
  const std::vector<JsonValue>& events = trace->Find("traceEvents")->items;
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(Text(events[0], "ph"), "X");
  EXPECT_EQ(Text(events[0], "cat"), "matmul_v2");
  EXPECT_THAT(Text(*events[0].Find("args"), "results"), HasSubstr("[3, "));
}

TEST_F(BenchTest, TakesTheBatchOfAnInput) {
  WriteArchive("in.npz", {{"x", HostTensor::Of<float>({2, 4}, {1, 2, -1, 0.5f, -2, 0.25f, 3, 1})}});
  const JsonValue line = OkJson({"bench", "mlp.pdmodel", "--input", "in.npz", "--seconds", "0"});
  EXPECT_EQ(Text(line, "job"), "run");
  EXPECT_EQ(Number(line, "batch"), 2);
  EXPECT_EQ(Number(line, "runs"), 10);
  EXPECT_GT(Number(line, "best_seconds"), 0);
  EXPECT_GT(Number(line, "best_cpu_seconds"), 0);
  EXPECT_LE(Number(line, "best_seconds"), Number(line, "p50_seconds"));
  EXPECT_LE(Number(line, "p50_seconds"), Number(line, "p99_seconds"));
  EXPECT_DOUBLE_EQ(Number(line, "items_per_second"), 2 / Number(line, "p50_seconds"));
}

TEST_F(BenchTest, AChainCanRunWithoutReuseOfMemory) {
  const std::vector<std::string> command = {"bench", "chain", "--strict-rounding", "--seconds", "0", "--threads", "1"};
  std::vector<std::string> apart = command;
  apart.push_back("--no-in-place");
  const JsonValue one = OkJson(command), two = OkJson(apart);
  EXPECT_EQ(Number(one, "arena_bytes"), 0);  // all steps work in the memory of the result
  EXPECT_GT(Number(two, "arena_bytes"), 0);
  EXPECT_EQ(Number(one.Find("profile")->items[0], "steps"), 10000);
}

TEST_F(BenchTest, TrainsABuiltInNetwork) {
  const JsonValue line = OkJson({"bench", "simplenet", "--train", "--batch", "1", "--level", "O2", "--seconds", "0", "--optimizer", "sgd"});
  EXPECT_EQ(Text(line, "job"), "train");
  EXPECT_EQ(Text(line, "level"), "O2");
  EXPECT_GT(Number(line, "loss"), 0);
}

TEST_F(BenchTest, SaysWhatIsMissing) {
  MakeModel("open", "program p version=1\n\nblock main {\n  feed x : f32 [?, ?]\n  y = relu(x) : f32 [?, ?]\n  fetch y\n}\n");
  EXPECT_THAT(Ok({"bench", "open.pdmodel", "--seconds", "0", "--batch", "3", "--json"}), HasSubstr("\"dims\":{\"x\":[3,"));
  Ok({"bench", "open.pdmodel", "--dims", "x=2,5", "--seconds", "0"});
  Ok({"bench", "open.pdmodel", "--dims", "x=2x5", "--seconds", "0"});
  ExpectFailure({"bench", "mlp.pdmodel", "--train"}, 2, "needed one of simplenet, resnet50, bert, chain");
  ExpectFailure({"bench", "mlp.pdmodel", "--dims", "x=a"}, 2, "needed NAME=1,3,48,320");
  ExpectFailure({"bench", "mlp.pdmodel", "--dims", "y=1,4"}, 2, "--dims: found dims of 'y', needed one of the feeds 'x'");
  ExpectFailure({"bench", "simplenet", "--train", "--profile", "trace.json"}, 2, "--profile: found --train");
  ExpectFailure({"bench", "mlp.pdmodel", "--profile", "mlp.pdmodel"}, 2, "mlp.pdmodel");
  ExpectFailure({"bench", "absent.pdmodel"}, 3, "absent.pdmodel");
}

}  // namespace
}  // namespace ampc::testing
