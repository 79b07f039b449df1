// ampc bench on small models: what it prints, and what it refuses. How fast anything is, no test says.
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

class BenchTest : public CliTest {
 protected:
  void SetUp() override { MakeModel("mlp", kMlp); }
};

TEST_F(BenchTest, MeasuresAModelForEachBatch) {
  const std::string text = Ok({"bench", "mlp.pdmodel", "--batch", "1,3", "--seconds", "0"});
  EXPECT_THAT(text, HasSubstr("level  batch    runs"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST_F(BenchTest, TakesTheBatchOfAnInput) {
  WriteArchive("in.npz", {{"x", HostTensor::Of<float>({2, 4}, {1, 2, -1, 0.5f, -2, 0.25f, 3, 1})}});
  const JsonValue line = OkJson({"bench", "mlp.pdmodel", "--input", "in.npz", "--seconds", "0"});
  EXPECT_EQ(Text(line, "job"), "run");
  EXPECT_EQ(Number(line, "batch"), 2);
  EXPECT_EQ(Number(line, "runs"), 10);
  EXPECT_GT(Number(line, "best_seconds"), 0);
  EXPECT_LE(Number(line, "best_seconds"), Number(line, "p50_seconds"));
  EXPECT_LE(Number(line, "p50_seconds"), Number(line, "p99_seconds"));
  EXPECT_DOUBLE_EQ(Number(line, "items_per_second"), 2 / Number(line, "p50_seconds"));
}

TEST_F(BenchTest, TrainsABuiltInNetwork) {
  const JsonValue line = OkJson({"bench", "simplenet", "--train", "--batch", "1", "--level", "O2", "--seconds", "0", "--optimizer", "sgd"});
  EXPECT_EQ(Text(line, "job"), "train");
  EXPECT_EQ(Text(line, "level"), "O2");
  EXPECT_GT(Number(line, "loss"), 0);
}

TEST_F(BenchTest, SaysWhatIsMissing) {
  MakeModel("open", "program p version=1\n\nblock main {\n  feed x : f32 [?, ?]\n  y = relu(x) : f32 [?, ?]\n  fetch y\n}\n");
  ExpectFailure({"bench", "open.pdmodel"}, 2, "--dims x=1,-1");
  Ok({"bench", "open.pdmodel", "--dims", "x=2,5", "--seconds", "0"});
  ExpectFailure({"bench", "mlp.pdmodel", "--train"}, 2, "needed one of simplenet, resnet50, bert");
  ExpectFailure({"bench", "mlp.pdmodel", "--dims", "x=a"}, 2, "needed NAME=1,3,48,320");
  ExpectFailure({"bench", "absent.pdmodel"}, 3, "absent.pdmodel");
}

}  // namespace
}  // namespace ampc::testing
