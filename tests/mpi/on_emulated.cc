// The emulated device with the kernels of collective and optimizer ops; all others run on the host, so a training has the host's bits.
#include "absl/status/status.h"
#include "kernels/device/emulated/emulated_device.h"
#include "kernels/kernel_registry.h"
#include "tests/mpi/worker_device.h"

namespace ampc::cuda {
absl::Status RegisterAllReduce(KernelRegistry* registry);
absl::Status RegisterLossScaling(KernelRegistry* registry);
absl::Status RegisterOptimizers(KernelRegistry* registry);
}  // namespace ampc::cuda

namespace ampc::testing {

std::string WorkerDevice() {
  static auto* const kernels = [] {
    auto* registry = new KernelRegistry;
    cuda::RegisterAllReduce(registry).IgnoreError();  // there is no duplicate
    cuda::RegisterLossScaling(registry).IgnoreError();
    cuda::RegisterOptimizers(registry).IgnoreError();
    AddEmulatedDevice(*registry);
    return registry;
  }();
  (void)kernels;
  return "emulated:0";
}

}  // namespace ampc::testing
