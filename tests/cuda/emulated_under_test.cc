#include "kernels/device/emulated/emulated_device.h"
#include "tests/cuda/device_under_test.h"

namespace ampc::testing {

absl::StatusOr<std::shared_ptr<Device>> DeviceUnderTest() { return NewEmulatedDevice(0); }

}  // namespace ampc::testing
