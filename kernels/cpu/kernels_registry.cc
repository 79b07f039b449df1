// The CPU kernels as one explicit list.
#include "kernels/cpu/kernels_registry.h"

#include "graph/base/status_macros.h"

namespace ampc {

#define AMPC_KERNEL(name) absl::Status Register##name(KernelRegistry* registry);
#include "kernels/cpu/all_kernels.inc"
#undef AMPC_KERNEL

absl::Status RegisterCpuKernels([[maybe_unused]] KernelRegistry* registry) {
#define AMPC_KERNEL(name) AMPC_RETURN_IF_ERROR(Register##name(registry));
#include "kernels/cpu/all_kernels.inc"
#undef AMPC_KERNEL
  return absl::OkStatus();
}

const KernelRegistry& CpuKernels() {
  static const KernelRegistry* const registry = [] {
    auto* r = new KernelRegistry;
    RegisterCpuKernels(r).IgnoreError();  // duplicates are a mistake in the list, which its test reports
    return r;
  }();
  return *registry;
}

}  // namespace ampc
