#include "kernels/cuda/cuda_kernels.h"
#include "kernels/device/emulated/emulated_device.h"
#include "tests/golden_models/device_name.h"

namespace ampc::testing {

std::string DeviceName() {
  AddEmulatedDevice(CudaKernels());
  return "emulated:0";
}

}  // namespace ampc::testing
