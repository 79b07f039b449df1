// The status of a call of the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ampc {

// "cudaMalloc: out of memory (cudaErrorMemoryAllocation)". Out of memory is ResourceExhausted, all else Internal. Takes the error away from
// cudaGetLastError, so that no launch after it reports it.
absl::Status CudaStatus(cudaError_t code, absl::string_view call);

// While it lives, this thread may ask for memory and for what is done although it captures work, which would spoil the capture otherwise.
class RelaxedCapture {
 public:
  RelaxedCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace ampc

// Returns from the function when the call fails: AMPC_CUDA(cudaSetDevice, index).
#define AMPC_CUDA(call, ...) AMPC_RETURN_IF_ERROR(::ampc::CudaStatus(call(__VA_ARGS__), #call))
