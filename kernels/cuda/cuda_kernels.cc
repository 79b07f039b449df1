// The device kernels as one explicit list.
#include "kernels/cuda/cuda_kernels.h"

#include "graph/base/status_macros.h"

namespace ampc {

#define AMPC_KERNEL(name) absl::Status Register##name(KernelRegistry* registry);
namespace cuda {
#include "kernels/cuda/all_kernels.inc"
}  // namespace cuda
#undef AMPC_KERNEL

absl::Status RegisterCudaKernels([[maybe_unused]] KernelRegistry* registry) {
#define AMPC_KERNEL(name) AMPC_RETURN_IF_ERROR(cuda::Register##name(registry));
#include "kernels/cuda/all_kernels.inc"
#undef AMPC_KERNEL
  return absl::OkStatus();
}

const KernelRegistry& CudaKernels() {
  static const KernelRegistry* const registry = [] {
    auto* r = new KernelRegistry;
    RegisterCudaKernels(r).IgnoreError();  // duplicates are a mistake in the list, which its test reports
    return r;
  }();
  return *registry;
}

}  // namespace ampc
