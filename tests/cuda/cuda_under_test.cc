#include "graph/base/status_macros.h"
#include "kernels/device/open_device.h"
#include "tests/cuda/device_under_test.h"

namespace ampc::testing {

absl::StatusOr<std::shared_ptr<Device>> DeviceUnderTest() {
  AMPC_ASSIGN_OR_RETURN(const DeviceTarget target, OpenDevice("cuda:0"));
  return target.device;
}

}  // namespace ampc::testing
