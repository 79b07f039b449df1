#include "runtime/train/checkpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/base/signal_cleanup.h"
#include "tests/testlib/status.h"
#include "tests/trainer/text_trainer.h"

extern char** environ;

namespace ampc {
namespace {

namespace fs = std::filesystem;
using ::ampc::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kChild[] = "AMPC_TEST_CHECKPOINTS";
constexpr int64_t kSteps = 240;

std::string NewDirectory(const std::string& name) {
  const fs::path path = fs::path(::testing::TempDir()) / absl::StrCat(name, ".", getpid());
  fs::remove_all(path);
  return path.string();
}

std::string Text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void Overwrite(const fs::path& path, const std::string& content) { std::ofstream(path, std::ios::binary | std::ios::trunc) << content; }

void ExpectSameScope(const Trainer& a, const Trainer& b) {
  ASSERT_EQ(a.scope().variables().size(), b.scope().variables().size());
  for (const auto& [name, variable] : a.scope().variables()) {
    EXPECT_TRUE(variable.value == b.scope().Find(name)->value) << name;
    EXPECT_EQ(variable.dtype, b.scope().Find(name)->dtype) << name;
  }
}

absl::StatusOr<Trainer> MakeTrainer(int accumulate = 3) { return Trainer::Create(Regression(), {.threads = 1, .accumulate = accumulate}); }

absl::Status TrainTo(Trainer& trainer, int64_t steps) {
  while (trainer.steps() < steps) {
    TensorMap batch = Batch(trainer.steps(), 4);
    if (trainer.steps() % 50 == 7) batch.at("t").mutable_values<float>()[0] = 1e6f;  // some steps are skipped
    if (absl::Status s = trainer.Step(batch).status(); !s.ok()) return s;
  }
  return absl::OkStatus();
}

TEST(Checkpoint, AResumedTrainingEndsAtTheSameBits) {
  const std::string dir = NewDirectory("resume");
  ASSERT_OK_AND_ASSIGN(Trainer whole, MakeTrainer());
  ASSERT_OK(TrainTo(whole, kSteps));
  ASSERT_OK_AND_ASSIGN(Trainer first, MakeTrainer());
  ASSERT_OK(TrainTo(first, 100));  // the second of three steps of an update comes next
  ASSERT_OK(first.Save(dir, {{"epoch", 1}, {"batch", 100}}));
  ASSERT_OK_AND_ASSIGN(Trainer second, MakeTrainer());
  ASSERT_OK_AND_ASSIGN(RestoredCheckpoint restored, second.Restore(dir));
  EXPECT_EQ(restored.steps, 100);
  EXPECT_EQ(restored.position, (DataPosition{{"batch", 100}, {"epoch", 1}}));
  EXPECT_TRUE(restored.notes.empty());
  ExpectSameScope(first, second);
  EXPECT_EQ(second.scalers()[0].skipped, first.scalers()[0].skipped);
  ASSERT_OK(TrainTo(second, kSteps));
  ExpectSameScope(whole, second);
  EXPECT_EQ(second.updates(), whole.updates());
  EXPECT_EQ(second.scalers()[0].skipped, whole.scalers()[0].skipped);
  fs::remove_all(dir);
}

// The work of a child process of the next test.
TEST(Checkpoint, Child) {
  const char* dir = std::getenv(kChild);
  if (dir == nullptr) GTEST_SKIP() << "runs inside KilledAtAnyMoment";
  signal(SIGTERM, &EndBySignal);
  ASSERT_OK_AND_ASSIGN(Trainer trainer, MakeTrainer());
  if (fs::exists(dir)) {
    absl::StatusOr<RestoredCheckpoint> restored = trainer.Restore(dir);
    if (!restored.ok()) {
      ASSERT_THAT(restored, StatusIs(ExitCode::kBadInput, HasSubstr("has no checkpoint")));
    }
  }
  while (trainer.steps() < kSteps) {
    ASSERT_OK(TrainTo(trainer, trainer.steps() + 4));
    ASSERT_OK(trainer.Save(dir, {{"batch", trainer.steps()}}));
    usleep(2000);
  }
}

// 0, or the signal that ended it; SIGTERM is sent in the middle of a save.
int RunChild(const std::string& dir, int kill_after_ms, int signal = SIGKILL) {
  const std::string variable = absl::StrCat(kChild, "=", dir);
  std::vector<char*> env;
  for (char** e = environ; *e != nullptr; ++e) {
    if (std::string(*e).rfind("XML_OUTPUT_FILE=", 0) != 0 && std::string(*e).rfind("GTEST_", 0) != 0) env.push_back(*e);
  }
  env.push_back(const_cast<char*>(variable.c_str()));
  env.push_back(nullptr);
  std::string self = fs::read_symlink("/proc/self/exe").string();
  std::string filter = "--gtest_filter=Checkpoint.Child";
  char* args[] = {self.data(), filter.data(), nullptr};
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, self.c_str(), nullptr, nullptr, args, env.data()), 0);
  if (kill_after_ms > 0) {
    usleep(static_cast<useconds_t>(kill_after_ms) * 1000);
    for (int i = 0; i < 1000 && signal == SIGTERM && !fs::exists(absl::StrCat(dir, "/.unfinished-", pid)); ++i) usleep(100);
    kill(pid, signal);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(Checkpoint, ASignalLeavesNoUnfinishedFolder) {
  const std::string dir = NewDirectory("ended");
  int ended = 0;
  for (int i = 0; i < 6; ++i) {
    ended += RunChild(dir, 20 + 10 * i, SIGTERM) == SIGTERM ? 1 : 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
      EXPECT_THAT(entry.path().filename().string(), ::testing::Not(HasSubstr("unfinished"))) << i;
    }
  }
  EXPECT_GT(ended, 0);
  fs::remove_all(dir);
}

TEST(Checkpoint, KilledAtAnyMoment) {
  const std::string dir = NewDirectory("killed");
  std::mt19937 random(7);
  int killed = 0;
  for (int i = 0; i < 10; ++i) killed += RunChild(dir, 40 + static_cast<int>(random() % 160)) == SIGKILL ? 1 : 0;
  EXPECT_GT(killed, 0);
  EXPECT_EQ(RunChild(dir, 0), 0);
  ASSERT_OK_AND_ASSIGN(Trainer whole, MakeTrainer());
  ASSERT_OK(TrainTo(whole, kSteps));
  ASSERT_OK_AND_ASSIGN(Trainer end, MakeTrainer());
  ASSERT_OK_AND_ASSIGN(RestoredCheckpoint restored, end.Restore(dir));
  EXPECT_EQ(restored.steps, kSteps);
  EXPECT_TRUE(restored.notes.empty());
  ExpectSameScope(whole, end);
  fs::remove_all(dir);
}

TEST(Checkpoint, ADamagedFileIsPassedOver) {
  const std::string dir = NewDirectory("damaged");
  ASSERT_OK_AND_ASSIGN(Trainer trainer, MakeTrainer());
  ASSERT_OK(TrainTo(trainer, 3));
  ASSERT_OK(trainer.Save(dir));
  ASSERT_OK(TrainTo(trainer, 6));
  ASSERT_OK(trainer.Save(dir));
  const fs::path newest = fs::path(dir) / "step-000000000006";
  for (const char* name : {"state.safetensors", "training.json", "manifest.json"}) {
    const std::string good = Text(newest / name);
    std::string flipped = good;
    flipped[flipped.size() / 2] ^= 4;
    for (const std::string& bad : {good.substr(0, good.size() / 2), flipped, std::string()}) {
      Overwrite(newest / name, bad);
      ASSERT_OK_AND_ASSIGN(Trainer other, MakeTrainer());
      ASSERT_OK_AND_ASSIGN(RestoredCheckpoint restored, other.Restore(dir));
      EXPECT_EQ(restored.steps, 3) << name;
      ASSERT_EQ(restored.notes.size(), 1u);
      EXPECT_THAT(restored.notes[0], HasSubstr("step-000000000006' is damaged and was passed over: "));
    }
    fs::remove(newest / name);
    ASSERT_OK_AND_ASSIGN(RestoredCheckpoint restored, trainer.Restore(dir));
    EXPECT_EQ(restored.steps, 3);
    Overwrite(newest / name, good);
  }
  ASSERT_OK_AND_ASSIGN(RestoredCheckpoint restored, trainer.Restore(dir));
  EXPECT_EQ(restored.steps, 6);
  Overwrite(fs::path(dir) / "latest", "nonsense");
  ASSERT_OK_AND_ASSIGN(restored, trainer.Restore(dir));
  EXPECT_EQ(restored.steps, 6);
  for (const char* step : {"step-000000000003", "step-000000000006"}) Overwrite(fs::path(dir) / step / "manifest.json", "{}");
  EXPECT_THAT(trainer.Restore(dir), StatusIs(ExitCode::kBadInput, HasSubstr("has no whole checkpoint")));
  fs::remove_all(dir);
}

TEST(Checkpoint, KeepsTheLastOnes) {
  const std::string dir = NewDirectory("keep");
  EXPECT_THAT(MakeTrainer()->Restore(dir), StatusIs(ExitCode::kBadInput, HasSubstr("has no checkpoint")));
  ASSERT_OK_AND_ASSIGN(Trainer trainer, MakeTrainer());
  for (int i = 1; i <= 5; ++i) {
    ASSERT_OK(TrainTo(trainer, i));
    fs::create_directories(fs::path(dir) / ".unfinished-1");  // as a process that was killed leaves it
    ASSERT_OK(trainer.Save(dir, {}, 2));
  }
  ASSERT_OK(trainer.Save(dir, {}, 2));  // the same step again
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"latest", "step-000000000005", "step-000000000005.1"}));
  EXPECT_EQ(Text(fs::path(dir) / "latest"), "step-000000000005.1\n");
  fs::remove_all(dir);
}

TEST(Checkpoint, TheLastOneIsKeptWhateverIsAskedFor) {
  for (const int keep : {-1, 0, 1}) {
    const std::string dir = NewDirectory("keep");
    ASSERT_OK_AND_ASSIGN(Trainer trainer, MakeTrainer());
    for (int i = 1; i <= 3; ++i) {
      ASSERT_OK(TrainTo(trainer, i));
      ASSERT_OK(trainer.Save(dir, {}, keep));
    }
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(dir)) names.insert(entry.path().filename().string());
    EXPECT_EQ(names, (std::set<std::string>{"latest", "step-000000000003"})) << keep;
    fs::remove_all(dir);
  }
}

TEST(Checkpoint, OfAnotherProgram) {
  const std::string dir = NewDirectory("another");
  ASSERT_OK_AND_ASSIGN(Trainer trainer, MakeTrainer(1));
  ASSERT_OK(TrainTo(trainer, 2));
  ASSERT_OK(trainer.Save(dir));
  ASSERT_OK_AND_ASSIGN(Trainer other, Trainer::Create(ParseTraining(R"(
feed  x : f32 [3]
param w : f32 [3]
state speed : f32 [3]
w <- elementwise_add(w, x)
speed <- assign(x)
)",
                                                                    "", {{"w", F({3}, {1, 2, 3})}}),
                                                      {.threads = 1}));
  const absl::Status status = other.Restore(dir).status();
  EXPECT_THAT(status, StatusIs(ExitCode::kBadInput, HasSubstr("step-000000000002' belongs to another program: ")));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("'speed' (f32 [3]) is missing; 'w' is f32 [2], the program has f32 [3]; 'bad' (i32 [1]) is extra"));
  EXPECT_EQ(Of(other, "w"), (std::vector<float>{1, 2, 3}));
  // The same variables, another update.
  const std::string text = absl::StrReplaceAll(kRegression, {{"scale=-0.25", "scale=-0.125"}});
  ASSERT_OK_AND_ASSIGN(Trainer changed, Trainer::Create(ParseTraining(text, kRegressionStartup, {{"w", F({2}, {0, 0})}}), {.threads = 1}));
  ASSERT_OK_AND_ASSIGN(RestoredCheckpoint restored, changed.Restore(dir));
  ASSERT_EQ(restored.notes.size(), 1u);
  EXPECT_THAT(restored.notes[0], HasSubstr("the program has changed"));
  // Between two updates only the same accumulation goes on.
  ASSERT_OK_AND_ASSIGN(Trainer three, MakeTrainer(3));
  ASSERT_OK(three.Restore(dir));
  ASSERT_OK(TrainTo(three, 4));
  ASSERT_OK(three.Save(dir));
  ASSERT_OK_AND_ASSIGN(Trainer four, MakeTrainer(4));
  EXPECT_THAT(four.Restore(dir), StatusIs(ExitCode::kBadInput, HasSubstr("was saved after 2 of 3 steps of an update")));
  fs::remove_all(dir);
}

// The value of a state in front of an update that has begun: a version that did not keep it saved none, a program that skips nothing needs
// none.
TEST(Checkpoint, KeptStatesMayBeMissingOrExtra) {
  const std::string dir = NewDirectory("kept");
  const auto fill = [](Scope& scope, float state, std::vector<float> kept) -> absl::Status {
    const absl::Status added = scope.Add("mean", DType::kF32, F({1}, {state}));
    if (!added.ok() || kept.empty()) return added;
    return scope.Add("mean@KEPT", DType::kF32, F({static_cast<int64_t>(kept.size())}, kept));
  };
  const CheckpointOptions with = {.keep = 3, .transient = {"mean@KEPT"}, .accumulate = 2},
                          without = {.keep = 3, .transient = {}, .accumulate = 2};
  TrainingProgress begun;
  begun.steps = begun.micro = 1;
  begun.accumulate = 2;
  const auto value = [](const Scope& scope, const char* name) { return scope.Find(name)->value.values<float>()[0]; };
  Scope old, resumed, plain, other;
  ASSERT_OK(fill(old, 5, {}));
  ASSERT_OK(fill(resumed, 1, {2}));
  ASSERT_OK(fill(plain, 3, {}));
  ASSERT_OK(fill(other, 4, {7, 8}));
  ASSERT_OK(SaveCheckpoint(dir, old, begun, without));
  ASSERT_OK(LoadCheckpoint(dir, resumed, with));
  EXPECT_EQ(value(resumed, "mean"), 5);
  EXPECT_EQ(value(resumed, "mean@KEPT"), 5);
  resumed.FindStorage("mean@KEPT")->mutable_values<float>()[0] = 6;
  ASSERT_OK(SaveCheckpoint(dir, resumed, begun, with));
  ASSERT_OK(LoadCheckpoint(dir, plain, without));
  EXPECT_EQ(value(plain, "mean"), 5);
  EXPECT_THAT(LoadCheckpoint(dir, other, with),
              StatusIs(ExitCode::kBadInput, HasSubstr("belongs to another program: 'mean@KEPT' is f32 [1], the program has f32 [2]")));
  EXPECT_EQ(value(other, "mean"), 4);
  fs::remove_all(dir);
}

TEST(Checkpoint, WhereNothingCanBeWritten) {
  ASSERT_OK_AND_ASSIGN(Trainer trainer, MakeTrainer(1));
  EXPECT_THAT(trainer.Save("/proc/none"), StatusIs(ExitCode::kInternal, HasSubstr("/proc/none")));
}

}  // namespace
}  // namespace ampc
