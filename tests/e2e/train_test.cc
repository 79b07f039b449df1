// ampc train: as its users run it, on a small data set of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/e2e/cli.h"

namespace ampc::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string BigEndian(uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)};
}

class TrainTest : public CliTest {
 protected:
  // Images of ten classes: class k has a bright bar at rows 2k and 2k + 1, over a pattern of its own.
  TrainTest() {
    std::filesystem::create_directories(folder_ / "data");
    WriteSet("train", 256);
    WriteSet("t10k", 64);
  }
  void WriteSet(const std::string& name, int count) const {
    std::string images = BigEndian(0x803) + BigEndian(static_cast<uint32_t>(count)) + BigEndian(28) + BigEndian(28);
    std::string labels = BigEndian(0x801) + BigEndian(static_cast<uint32_t>(count));
    for (int i = 0; i < count; ++i) {
      const int label = i * 7 % 10;
      labels += static_cast<char>(label);
      for (int pixel = 0; pixel < 28 * 28; ++pixel) {
        const int noise = (i * 7919 + pixel * 104729) % 61;
        images += static_cast<char>(noise + (pixel / 56 == label ? 180 : 0));
      }
    }
    Write("data/" + name + "-images-idx3-ubyte", images);
    Write("data/" + name + "-labels-idx1-ubyte", labels);
  }
  std::vector<std::string> Args(const std::string& network, const std::vector<std::string>& more) const {
    std::vector<std::string> args = {"train", network, "--data", "data", "--threads", "1", "--batch", "32"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  // The lines of --json.
  std::vector<JsonValue> Lines(const std::vector<std::string>& args) const {
    std::vector<JsonValue> lines;
    const Outcome outcome = Ampc(args);  // which may have notes
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    for (absl::string_view line : absl::StrSplit(outcome.out, '\n', absl::SkipEmpty())) {
      absl::StatusOr<JsonValue> value = ParseJson(line);
      EXPECT_TRUE(value.ok()) << line;
      if (value.ok()) lines.push_back(*std::move(value));
    }
    return lines;
  }
};

TEST_F(TrainTest, LearnsAtEveryLevel) {
  for (const std::vector<std::string>& level : std::vector<std::vector<std::string>>{{"--level", "O0"},
                                                                                     {"--level", "O1"},
                                                                                     {"--level", "O2"},
                                                                                     {"--level", "O2", "--no-guard"},
                                                                                     {"--level", "O2", "--dtype", "bf16"}}) {
    std::vector<std::string> args = Args("guarded", {"--epochs", "3", "--json", "--lr", "0.05"});
    args.insert(args.end(), level.begin(), level.end());
    const std::vector<JsonValue> lines = Lines(args);
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(Text(lines[2], "event"), "epoch");
    EXPECT_LT(Number(lines[2], "loss"), Number(lines[0], "loss")) << level[1];
    EXPECT_GT(Number(lines[2], "accuracy"), 0.9) << level[1];
  }
}

TEST_F(TrainTest, WhatIsNotFiniteEndsTrainingAndIsNotSaved) {
  const Outcome end = Ampc(Args("lenet", {"--lr", "1e10", "--steps", "20", "--no-test", "-o", "boom.ampc"}));
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, ::testing::AnyOf(HasSubstr("the loss 'mean_0.tmp_0' is not finite; "), HasSubstr("; it is not written")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "boom.ampc"));
  const Outcome all = Ampc(Args("lenet", {"--lr", "1e10", "--steps", "20", "--no-test", "--keep-going", "-o", "boom.ampc"}));
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "boom.ampc"));
  EXPECT_THAT(Ampc(Args("lenet", {"--level", "O2", "--dtype", "bf16", "--steps", "1", "--no-test"})).err,
              HasSubstr("bf16 has the range of fp32: the loss is not scaled"));
}

TEST_F(TrainTest, PrintsATableAndWritesAPictureAndAModel) {
  const std::string table = Ok(Args("guarded", {"--level", "O1", "--init-scale", "1024", "--plot", "curve.svg", "-o", "net.pdmodel"}));
  EXPECT_THAT(table, AllOf(HasSubstr("epoch     step      loss  accuracy       scale  skipped  seconds\n"), HasSubstr(" 1024 ")));
  EXPECT_THAT(Read("curve.svg"), AllOf(HasSubstr("test accuracy"), HasSubstr("O1 fp16")));
  const JsonValue facts = OkJson({"inspect", "net.pdmodel"});
  EXPECT_EQ(Number(facts, "inserted_casts"), 0);
  WriteArchive("in.npz", {{"x", *HostTensor::Create(DType::kF32, std::vector<int64_t>{3, 1, 28, 28})}});
  Ok({"run", "net.pdmodel", "--input", "in.npz", "-o", "out.npz"});
  const std::map<std::string, HostTensor> out = ReadArchive("out.npz");
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out.begin()->second.num_elements(), 30);
}

TEST_F(TrainTest, StepsAreLogged) {
  const std::vector<JsonValue> lines =
      Lines(Args("lenet", {"--steps", "5", "--json", "--log-every", "2", "--level", "O2", "--init-scale", "256", "--optimizer", "adamw"}));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(Text(lines[0], "event"), "step");
  EXPECT_EQ(Number(lines[1], "step"), 4);
  EXPECT_EQ(Number(lines[1], "scale"), 256);
  EXPECT_EQ(Text(lines[2], "event"), "epoch");
}

// The steps that --steps leaves of an epoch are tested on as many rows as they had, in whole batches.
TEST_F(TrainTest, TestsAreNoLongerThanTheirTraining) {
  WriteSet("t10k", 600);
  const auto rows = [this](const std::vector<std::string>& more) {
    std::vector<std::string> args = Args("lenet", {"--json"});
    args.insert(args.end(), more.begin(), more.end());
    const std::vector<JsonValue> lines = Lines(args);
    EXPECT_FALSE(lines.empty());
    return lines.empty() ? -1 : Number(lines.back(), "test_rows");
  };
  const double all = rows({"--epochs", "1"});
  EXPECT_EQ(all, 600);
  EXPECT_EQ(rows({"--steps", "2"}), 250);
  EXPECT_EQ(rows({"--steps", "2", "--test-batches", "1000"}), all);
  EXPECT_EQ(rows({"--epochs", "1", "--test-batches", "1"}), 250);
  ExpectFailure(Args("lenet", {"--no-test", "--test-batches", "1"}), 2, "--no-test");
}

TEST_F(TrainTest, WritesATableAndKeepsTheBestCheckpoint) {
  Ok(Args("guarded", {"--epochs", "2", "--lr", "0.05", "--csv", "run.csv", "--checkpoint", "runs"}));
  std::istringstream table(Read("run.csv"));
  std::vector<std::string> rows;
  for (std::string row; std::getline(table, row);) rows.push_back(row);
  ASSERT_GT(rows.size(), 3u);
  EXPECT_EQ(rows[0], "event,epoch,step,loss,accuracy,scale,skipped,learning_rate,seconds");
  EXPECT_THAT(rows[1], ::testing::StartsWith("step,1,1,"));
  EXPECT_THAT(rows.back(), ::testing::StartsWith("epoch,2,"));
  for (const std::string& row : rows) EXPECT_EQ(std::count(row.begin(), row.end(), ','), 8) << row;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "runs/best/latest"));
  const Outcome more = Ampc(Args("guarded", {"--epochs", "3", "--lr", "0.05", "--checkpoint", "runs/best", "--resume"}));
  EXPECT_EQ(more.code, 0);
  EXPECT_THAT(more.err, HasSubstr("going on from 'runs/best/"));
  ExpectFailure(Args("guarded", {"--csv", "run.json"}), 2, ".csv");
}

TEST_F(TrainTest, TheTableOfATrainingThatEndsEarlyIsThere) {
  EXPECT_EQ(Ampc(Args("guarded", {"--epochs", "3", "--lr", "1e30", "--check-nan-inf", "--csv", "run.csv"})).code, 1);
  EXPECT_THAT(Read("run.csv"), HasSubstr("\nstep,1,1,"));
  ExpectFailure(Args("guarded", {"--csv", "none/run.csv"}), 5, "none/run.csv: cannot be written");
}

TEST_F(TrainTest, EveryNetworkTrains) {
  for (const char* network : {"lenet", "resnet18", "lstm", "transformer", "simplenet"}) {
    const std::vector<JsonValue> lines =
        Lines({"train",        network, "--data",  "data", "--threads",    "2",   "--batch",   "4",      "--steps",     "4",
               "--accumulate", "2",     "--level", "O2",   "--init-scale", "128", "--no-test", "--json", "--log-every", "1"});
    ASSERT_EQ(lines.size(), 5u) << network;
    for (int step = 0; step < 4; ++step) {
      EXPECT_GT(Number(lines[step], "loss"), 0) << network;
      EXPECT_LT(Number(lines[step], "loss"), 10) << network;
    }
    EXPECT_EQ(Number(lines[4], "skipped"), 0) << network;
  }
}

TEST_F(TrainTest, ResumesBitForBit) {
  const std::vector<std::string> common = {"--level", "O2", "--checkpoint-every", "3", "-o"};
  const auto run = [&](const std::string& name, const std::string& steps, bool resume) {
    std::vector<std::string> args = Args("guarded", common);
    args.insert(args.end(), {name + ".pdmodel", "--checkpoint", name, "--steps", steps});
    if (resume) args.push_back("--resume");
    const Outcome outcome = Ampc(args);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.err;
  };
  run("whole", "13", false);
  run("parts", "7", false);
  EXPECT_THAT(run("parts", "13", true), HasSubstr("after step 7"));
  EXPECT_EQ(Read("whole.pdiparams"), Read("parts.pdiparams"));
  const Outcome other = Ampc(Args("guarded", {"--level", "O2", "--checkpoint", "parts", "--resume", "--seed", "4"}));
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("made with --seed 0 in 'parts"));
}

// A step at the end of an epoch or of the training is one.
TEST_F(TrainTest, SavesNoStepTwice) {
  Ok(Args("guarded", {"--checkpoint", "saved", "--checkpoint-every", "3", "--steps", "6", "--no-test"}));
  Ok(Args("guarded", {"--checkpoint", "each", "--checkpoint-every", "1", "--epochs", "2", "--no-test"}));
  for (const auto& [file, content] : Files()) {
    EXPECT_TRUE(std::filesystem::path(file).parent_path().extension().empty()) << file;
  }
  EXPECT_TRUE(std::filesystem::exists(folder_ / "saved/step-000000000003")) << "asked for by --checkpoint-every";
}

TEST_F(TrainTest, SaysWhatIsWrong) {
  const auto expect = [&](const std::vector<std::string>& args, int code, const std::string& message) {
    const Outcome outcome = Ampc(args);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_THAT(outcome.out, IsEmpty());
  };
  expect({"train", "resnet"}, 2, "found network 'resnet', needed one of guarded, lenet, resnet18, lstm, transformer, simplenet");
  expect(Args("lenet", {"--optimizer", "sdg"}), 2, "sgd");
  expect(Args("lenet", {"--clip", "norm"}), 2, "--clip: found 'norm', needed value:LOW,HIGH, norm:N or global-norm:N");
  expect(Args("lenet", {"--optimizer", "adam", "--momentum", "0.5"}), 2, "--momentum: found optimizer 'adam', needed momentum");
  expect(Args("lenet", {"--resume"}), 2, "--resume: found no --checkpoint");
  expect(Args("lenet", {"--init-scale", "8"}), 2, "--init-scale: found level O0");
  expect({"train", "lenet", "--data", "nowhere"}, 3, "needed the data set of Debian's package dataset-fashion-mnist");
  Write("data/train-labels-idx1-ubyte", Read("data/train-labels-idx1-ubyte").substr(0, 100));
  expect(Args("lenet", {}), 3, "found 92 bytes of data, needed 256");
}

TEST(TrainExample, TrainsInMixedPrecision) {
  const TempFolder folder;
  const Outcome outcome = RunProcess("tools/examples/train_mixed_precision", {"41"}, folder.path());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto loss = [&](const std::string& after) { return std::atof(outcome.out.c_str() + outcome.out.find(after) + after.size()); };
  EXPECT_GT(loss("step 0: loss "), 2);
  EXPECT_LT(loss("step 40: loss "), 0.5 * loss("step 0: loss "));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("scale 32768"), HasSubstr("test: loss "), Not(HasSubstr("nan"))));
}

}  // namespace
}  // namespace ampc::testing
