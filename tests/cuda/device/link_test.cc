// One program serves machines with and without CUDA: what it needs to start holds no library of a vendor.
#include <algorithm>
#include <string>

#include "tests/e2e/process.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Link, TheProgramStartsWithoutCudaLibraries) {
  const testing::Outcome needed = testing::RunProcess("/usr/bin/readelf", {"-d", "tools/ampc"}, ".");
  ASSERT_EQ(needed.code, 0) << needed.err;
  ASSERT_THAT(needed.out, HasSubstr("(NEEDED)"));
  for (const char* library : {"libcuda", "libcublas", "libcudnn", "libnccl", "libnvrtc", "libnvToolsExt"}) {
    EXPECT_THAT(needed.out, Not(HasSubstr(library)));
  }
  EXPECT_EQ(testing::RunProcess("tools/ampc", {"--help"}, ".").code, 0);
}

// No machine has so many devices: one line says what is missing here, the build, the driver or the device.
TEST(Link, ADeviceThatIsNotThereIsOneSentence) {
  const testing::Outcome run = testing::RunProcess("tools/ampc", {"bench", "simplenet", "--device", "cuda:999"}, ".");
  EXPECT_EQ(run.code, 4);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, StartsWith("ampc bench: "));
  EXPECT_THAT(run.err, HasSubstr("cuda:999"));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

}  // namespace
}  // namespace ampc
