// From a ConvDesc to an execution plan of cuDNN: the operation graph, the engines by its heuristics, the first that is allowed and fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/device/conv_library.h"
#include "kernels/device/cuda/cudnn_api.h"

namespace ampc {

// The target of a plan: the device of a handle, or one that need not be there, described by a device property descriptor of cuDNN (9.8).
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  std::optional<CudnnDescriptor> properties;
};

// For a device that is described in JSON, as the attribute CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION has it.
absl::StatusOr<CudnnTarget> DescribedTarget(const CudnnApi& api, const std::string& json);

// Immutable.
struct CudnnPlan {
  CudnnDescriptor plan;
  int64_t workspace_bytes = 0;
  int64_t engine = 0;
};

// Names of tensors in a variant pack.
enum CudnnTensor : int64_t { kCudnnX = 1, kCudnnW, kCudnnY, kCudnnBias, kCudnnResidual };

// An engine must be deterministic, accumulate in f32 and not convert its operands: no FFT, no Winograd, for f32 without desc.tf32 no tensor
// cores. Unimplemented where no engine is left.
absl::StatusOr<CudnnPlan> PlanCudnn(const CudnnApi& api, const CudnnTarget& target, const ConvDesc& desc, int64_t workspace_limit);

}  // namespace ampc
