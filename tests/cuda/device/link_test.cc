// One program serves machines with and without CUDA: what it needs to start holds no library of a vendor.
#include <string>

#include "tests/e2e/process.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Link, TheProgramStartsWithoutCudaLibraries) {
  const testing::Outcome needed = testing::RunProcess("/usr/bin/readelf", {"-d", "tools/ampc"}, ".");
  ASSERT_EQ(needed.code, 0) << needed.err;
  ASSERT_THAT(needed.out, HasSubstr("(NEEDED)"));
  for (const char* library : {"libcuda", "libcublas", "libcudnn", "libnccl", "libnvrtc", "libnvToolsExt"}) {
    EXPECT_THAT(needed.out, Not(HasSubstr(library)));
  }
  EXPECT_EQ(testing::RunProcess("tools/ampc", {"--help"}, ".").code, 0);
}

}  // namespace
}  // namespace ampc
