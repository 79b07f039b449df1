// Several processes as users start them: mpirun and a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "graph/base/dtype.h"
#include "tests/e2e/process.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

class Mpi : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* place : {"/usr/bin/mpirun", "/usr/local/bin/mpirun"}) {
      if (mpirun_.empty() && std::filesystem::exists(place)) mpirun_ = place;
    }
    ASSERT_FALSE(mpirun_.empty()) << "mpirun is not installed: tools/setup.sh installs Debian's openmpi-bin";
  }

  // Two processes of the worker.
  Outcome RunTwo(const std::string& what, const std::string& binary = "tests/mpi/worker", const std::string& folder = "") const {
    const std::string worker = std::filesystem::absolute(binary).string();
    return RunProcess(mpirun_, {"-n", "2", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", worker, what, folder}, ::testing::TempDir(),
                      {"OMPI_MCA_orte_tmpdir_base=/tmp", "OMPI_MCA_btl_vader_single_copy_mechanism=none", "OMPI_MCA_rmaps_base_oversubscribe=1"});
  }

  std::string mpirun_;
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

// Lines that start with `key`, without it.
std::vector<std::string> Lines(const std::string& text, const std::string& key) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) out.push_back(line.substr(key.size()));
  }
  return out;
}

TEST_F(Mpi, TwoProcessesTrainAsOneOnTheWholeBatch) {
  const Outcome one = RunProcess(kTrain, {"train"}, ::testing::TempDir());
  const Outcome two = RunTwo("train", kTrain);
  ASSERT_EQ(one.code, 0) << one.err;
  ASSERT_EQ(two.code, 0) << two.out << two.err;
  const std::vector<std::string> digests = Lines(two.out, "digest ");
  ASSERT_EQ(digests.size(), 2u) << two.out;
  EXPECT_EQ(digests[0], digests[1]);  // the same bits on both
  const std::vector<std::string> want = Lines(one.out, "value "), found = Lines(two.out, "value ");
  ASSERT_EQ(found.size(), want.size());
  ASSERT_GT(want.size(), 100u);  // params and moments
  for (size_t i = 0; i < want.size(); ++i) {
    const size_t at = want[i].find(' ');
    ASSERT_EQ(found[i].substr(0, at), want[i].substr(0, at));
    EXPECT_TRUE(Near(std::stod(found[i].substr(at)), std::stod(want[i].substr(at)), ToleranceFor(DType::kF32))) << want[i] << " found " << found[i];
  }
}

TEST_F(Mpi, TheLastCheckpointOfAKilledJobIsWhole) {
  const std::string folder = (std::filesystem::path(::testing::TempDir()) / "checkpoints").string();
  const Outcome killed = RunTwo("crash", kTrain, folder);
  EXPECT_EQ(killed.code, 137) << killed.out << killed.err;
  EXPECT_THAT(killed.out + killed.err, HasSubstr("exited on signal 9 (Killed)"));
  const Outcome resumed = RunProcess(kTrain, {"resume", folder}, ::testing::TempDir());
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  const std::vector<std::string> steps = Lines(resumed.out, "steps ");
  ASSERT_EQ(steps.size(), 1u);
  // Process 0 may be in the save of the sixth step when it is ended.
  EXPECT_THAT(steps[0], ::testing::AnyOf("5", "6"));
}

}  // namespace
}  // namespace ampc::testing
