// The CUDA backend as OpenDevice sees it; defined in programs that link //kernels/device:cuda and are built with --config=cuda.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/device/device.h"
#include "kernels/kernel_registry.h"

namespace ampc {

class CollectiveLibrary;  // kernels/device/collectives.h

// Exit code 4 in one sentence: no driver or too old a one, no such device, compute capability below 7.5.
absl::StatusOr<std::shared_ptr<Device>> OpenCudaDevice(int index);
const KernelRegistry* KernelsOfCudaDevices();
CollectiveLibrary* CollectivesOfCudaDevices();

}  // namespace ampc
