#include "kernels/device/cuda/nccl.h"

#include <string>

#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// If the library is there, it has every function that is used, with or without a device.
TEST(Nccl, OpensOrSaysWhyNot) {
  const absl::StatusOr<CollectiveId> id = Nccl().NewId();
  if (ExitCodeOf(id.status()) != ExitCode::kUnsupported) return;
  ASSERT_THAT(std::string(id.status().message()),
              AnyOf(HasSubstr("libnccl.so.2 was not found; looked in"), HasSubstr("libnccl.so.2 cannot be opened")));
  GTEST_SKIP() << id.status().message();
}

}  // namespace
}  // namespace ampc
