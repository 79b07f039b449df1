#include "kernels/cuda/cuda_kernels.h"
#include "kernels/kernel_registry.h"

namespace ampc::testing {

absl::Status RegisterKernelsUnderTest(KernelRegistry* registry) { return RegisterCudaKernels(registry); }

}  // namespace ampc::testing
