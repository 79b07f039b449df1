#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/device/cuda_backend.h"

namespace ampc {

absl::StatusOr<std::shared_ptr<Device>> OpenCudaDevice(int index) {
  return UnsupportedError(absl::StrCat("device 'cuda:", index, "': this build has no CUDA, build with --config=cuda"));
}

const KernelRegistry* KernelsOfCudaDevices() { return nullptr; }

CollectiveLibrary* CollectivesOfCudaDevices() { return nullptr; }

}  // namespace ampc
