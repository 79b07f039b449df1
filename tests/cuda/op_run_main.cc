// main of a test of tests/kernels/op_run.h whose ops run on the device under test, too: those of RegisterKernelsUnderTest.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "graph/base/error.h"
#include "tests/cuda/device_under_test.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/kernels_ran.h"

namespace ampc::testing {

absl::Status RegisterKernelsUnderTest(KernelRegistry* registry);

}  // namespace ampc::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ampc::KernelRegistry kernels;
  const absl::Status registered = ampc::testing::RegisterKernelsUnderTest(&kernels);
  const auto device = ampc::testing::DeviceUnderTest();
  if (ampc::ExitCodeOf(device.status()) == ampc::ExitCode::kUnsupported) {
    std::printf("skipped: %s\n", std::string(device.status().message()).c_str());
    return 0;
  }
  if (!registered.ok() || !device.ok()) {
    std::printf("%s\n", (registered.ok() ? device.status() : registered).ToString().c_str());
    return 1;
  }
  ampc::testing::NoteKernelsUnderTest(kernels);
  ampc::testing::RunOpsOn(kernels, **device);
  return RUN_ALL_TESTS();
}
