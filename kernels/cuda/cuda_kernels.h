// Fills a registry with every device kernel. Their host parts are the same for every device with this interface; what they launch is
// nvcc's code or, in tests, the emulated device's, whichever the program links.
#pragma once

#include "absl/status/status.h"
#include "kernels/kernel_registry.h"

namespace ampc {

// Internal when two kernels claim one op.
absl::Status RegisterCudaKernels(KernelRegistry* registry);
const KernelRegistry& CudaKernels();

}  // namespace ampc
