// Several processes as users start them: mpirun and a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "graph/base/dtype.h"
#include "tests/e2e/process.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Mpi : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* place : {"/usr/bin/mpirun", "/usr/local/bin/mpirun"}) {
      if (mpirun_.empty() && std::filesystem::exists(place)) mpirun_ = place;
    }
    ASSERT_NE(mkdtemp(session_.data()), nullptr) << session_;
    ASSERT_FALSE(mpirun_.empty()) << "mpirun is not installed: tools/setup.sh installs Debian's openmpi-bin";
  }

  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(session_, ignored);
  }

  // Two processes of the worker.
  Outcome RunTwo(const std::string& what, const std::string& binary = "tests/mpi/worker", const std::string& folder = "") const {
    const std::string worker = std::filesystem::absolute(binary).string();
    return RunProcess(
        mpirun_, {"-n", "2", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", worker, what, folder}, ::testing::TempDir(),
        {"OMPI_MCA_orte_tmpdir_base=" + session_, "OMPI_MCA_btl_vader_single_copy_mechanism=none", "OMPI_MCA_rmaps_base_oversubscribe=1"});
  }

  std::string mpirun_;
  // Of mpirun: two that start at the same time get into each other's way; its sockets need a short path.
  std::string session_ = "/tmp/ampc_mpi_XXXXXX";
};

TEST_F(Mpi, OneProcessNeedsNoLibrary) {
  const Outcome outcome = RunProcess("tests/mpi/worker", {"alone"}, ::testing::TempDir());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "rank 0 of 1 ok\n");
}

TEST_F(Mpi, TwoProcessesShareTheirWork) {
  const Outcome outcome = RunTwo("collective");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("rank 0 of 2 ok\n"));
  EXPECT_THAT(outcome.out, HasSubstr("rank 1 of 2 ok\n"));
}

TEST_F(Mpi, AProcessThatDiesEndsTheJob) {
  const Outcome outcome = RunTwo("killed");
  EXPECT_EQ(outcome.code, 137) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("process rank 1"));
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("exited on signal 9 (Killed)"));
}

TEST_F(Mpi, AProcessThatFailsEndsTheJobWithItsExitCode) {
  const Outcome outcome = RunTwo("fails");
  EXPECT_EQ(outcome.code, 3) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("this process cannot go on"));
}

constexpr char kTrain[] = "tests/mpi/train_worker";
constexpr char kTrainOnDevice[] = "tests/mpi/device_train_worker";

// Two processes that train, and what each of them wrote.
struct Training {
  Outcome job;
  std::string out[2];
};

class MpiTraining : public Mpi {
 protected:
  static std::string Folder(const std::string& what) { return (std::filesystem::path(::testing::TempDir()) / what).string(); }

  Training TrainTwo(const std::string& what, const std::string& binary = kTrain) const {
    const std::string folder = Folder(binary == kTrain ? what : "device_" + what);
    std::filesystem::create_directories(folder);
    Training training{RunTwo(what, binary, folder), {}};
    for (int rank = 0; rank < 2; ++rank) {
      training.out[rank] = testing::ReadFile(folder + "/process." + std::to_string(rank));
    }
    return training;
  }
};

// Lines that start with `key`, without it.
std::vector<std::string> Lines(const std::string& text, const std::string& key) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) out.push_back(line.substr(key.size()));
  }
  return out;
}

// The same bits on both processes.
void ExpectSameStates(const Training& two) {
  const std::vector<std::string> digest = Lines(two.out[0], "digest ");
  ASSERT_EQ(digest.size(), 1u) << two.out[0];
  EXPECT_EQ(Lines(two.out[1], "digest "), digest);
}

void ExpectTrainsAsOne(const Outcome& one, const Training& two) {
  ASSERT_EQ(one.code, 0) << one.err;
  ASSERT_EQ(two.job.code, 0) << two.job.out << two.job.err;
  ExpectSameStates(two);
  const std::vector<std::string> want = Lines(one.out, "value "), found = Lines(two.out[0], "value ");
  ASSERT_EQ(found.size(), want.size());
  ASSERT_GT(want.size(), 100u);  // params and moments
  for (size_t i = 0; i < want.size(); ++i) {
    const size_t at = want[i].find(' ');
    ASSERT_EQ(found[i].substr(0, at), want[i].substr(0, at));
    EXPECT_TRUE(Near(std::stod(found[i].substr(at)), std::stod(want[i].substr(at)), ToleranceFor(DType::kF32)))
        << want[i] << " found " << found[i];
  }
}

TEST_F(MpiTraining, TwoProcessesTrainAsOneOnTheWholeBatch) {
  ExpectTrainsAsOne(RunProcess(kTrain, {"train"}, ::testing::TempDir()), TrainTwo("train"));
}

TEST_F(MpiTraining, TwoProcessesAccumulateAsOne) {
  const Outcome one = RunProcess(kTrain, {"accumulate"}, ::testing::TempDir());
  ExpectTrainsAsOne(one, TrainTwo("accumulate"));
  EXPECT_NE(Lines(one.out, "value fc_0"), Lines(RunProcess(kTrain, {"train"}, ::testing::TempDir()).out, "value fc_0"));
}

// Step 4, the first of the third window, overflows on process 1. Both skip the window, and run it again for the alarm.
TEST_F(MpiTraining, AnOverflowOnOneProcessSkipsTheStepOnAll) {
  const Training two = TrainTwo("mixed");
  ASSERT_EQ(two.job.code, 0) << two.job.out << two.job.err;
  ExpectSameStates(two);
  for (const std::string& out : two.out) {
    const std::vector<std::string> steps = Lines(out, "step ");
    ASSERT_EQ(steps.size(), 12u);
    // The first step has nothing in front of it to compare with.
    for (int step = 1; step < 12; ++step) {
      const bool update = step % 2 == 1 && step != 5;
      EXPECT_EQ(steps[step],
                std::to_string(step) + (update ? " moved 1" : " moved 0") + (step < 5 ? " scale 1024 skipped 0" : " scale 512 skipped 1"));
    }
    EXPECT_EQ(Lines(out, "alarm 1 steps in a row were skipped; ").size(), 1u) << out;
  }
  // The results of process 0 before the gradients meet are finite.
  EXPECT_THAT(two.out[0], HasSubstr("op 'c_allreduce_sum'"));
  EXPECT_THAT(two.out[1], Not(HasSubstr("op 'c_allreduce_sum'")));
}

TEST_F(Mpi, DevicesExchangeInBuckets) {
  const Outcome outcome = RunTwo("", "tests/mpi/device_worker");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("rank 0 of 2 ok\n"));
  EXPECT_THAT(outcome.out, HasSubstr("rank 1 of 2 ok\n"));
}

// Two processes with a device each have the bits that they have without: gradients meet between the devices. The convolution of the mixed
// network may lie in another order there; its steps, the skipped ones among them, are the same.
TEST_F(MpiTraining, DevicesTrainAsTheHosts) {
  for (const std::string what : {"train", "accumulate", "mixed"}) {
    SCOPED_TRACE(what);
    const Training host = TrainTwo(what), device = TrainTwo(what, kTrainOnDevice);
    ASSERT_EQ(host.job.code, 0) << host.job.out << host.job.err;
    ASSERT_EQ(device.job.code, 0) << device.job.out << device.job.err;
    ExpectSameStates(device);
    for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(Lines(device.out[rank], "step "), Lines(host.out[rank], "step "));
    if (what == "mixed") continue;
    EXPECT_EQ(Lines(device.out[0], "value "), Lines(host.out[0], "value "));
    EXPECT_EQ(Lines(device.out[1], "digest "), Lines(host.out[1], "digest "));
  }
}

TEST_F(MpiTraining, CheckedTrainingEndsTheJobWhereTheFirstProcessFindsInfinity) {
  const Training two = TrainTwo("checked");
  EXPECT_EQ(two.job.code, 1) << two.job.out << two.job.err;
  EXPECT_THAT(two.job.out + two.job.err, HasSubstr("infinite values of"));
  EXPECT_EQ(Lines(two.out[1], "step ").size(), 4u);
}

TEST_F(MpiTraining, TheLastCheckpointOfAKilledJobIsWhole) {
  const Training two = TrainTwo("crash");
  EXPECT_EQ(two.job.code, 137) << two.job.out << two.job.err;
  EXPECT_THAT(two.job.out + two.job.err, HasSubstr("exited on signal 9 (Killed)"));
  const Outcome resumed = RunProcess(kTrain, {"resume", Folder("crash")}, ::testing::TempDir());
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  const std::vector<std::string> steps = Lines(resumed.out, "steps ");
  ASSERT_EQ(steps.size(), 1u);
  // Process 0 may be in the save of the sixth step when it is ended.
  EXPECT_THAT(steps[0], ::testing::AnyOf("5", "6"));
}

}  // namespace
}  // namespace ampc::testing
