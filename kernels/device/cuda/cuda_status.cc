#include "kernels/device/cuda/cuda_status.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc {

absl::Status CudaStatus(cudaError_t code, absl::string_view call) {
  if (code == cudaSuccess) return absl::OkStatus();
  (void)cudaGetLastError();
  const std::string text = absl::StrCat(call, ": ", cudaGetErrorString(code), " (", cudaGetErrorName(code), ")");
  return code == cudaErrorMemoryAllocation ? absl::ResourceExhaustedError(text) : InternalError(text);
}

}  // namespace ampc
