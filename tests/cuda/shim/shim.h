// Shims in place of the CUDA runtime, the driver, cuBLASLt and cuDNN: a program that links them has `cuda:0` and `cuda:1` on the host, with
// the project's own backend (kernels/device/cuda) and kernels as for the emulated device. Work is done at once, in the order of the calls.
// Any call of a function can be made to fail with a code of its library.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace ampc::testing {

// Calls by function since the last Reset; kernels are calls of "launch".
std::map<std::string, int64_t> ShimCalls();
// Call number `call`, from 1 on and since the last Reset, returns `code`, and does nothing.
void FailShimCall(const std::string& function, int64_t call, int code);
// Forgets calls and failures.
void ResetShim();
// As if the caller's program had chosen another device for the calling thread.
void MakeShimDeviceCurrent(int device);
// Without it nothing is computed: what is launched is only counted.
void SetShimComputes(bool computes);

// The calls of the host since the last Reset, in bytes and calls; a graph's kernels are counted when it is captured.
struct ShimTraffic {
  int64_t launches = 0, products = 0, convolutions = 0, graphs = 0;
  int64_t bytes_to_device = 0, bytes_to_host = 0, bytes_on_device = 0, bytes_filled = 0;
  int64_t waits = 0;
};
ShimTraffic TrafficOfShim();

// The objects that were made and not destroyed: "" or "2 streams, 1 allocations".
std::string LiveShimObjects();

}  // namespace ampc::testing
