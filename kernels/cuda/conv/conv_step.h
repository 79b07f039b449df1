// ConvStep: one convolution, or one of its gradients, on a device: by the convolution library where it has a plan, else by device code.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"
#include "kernels/common/activation.h"
#include "kernels/device/conv_library.h"
#include "kernels/device/device.h"
#include "kernels/lib/conv.h"

namespace ampc::cuda {

struct ConvTask {
  ConvKind kind = ConvKind::kForward;
  DType type = DType::kF32;         // of x and y: f32, f16, bf16
  DType filter_type = DType::kF32;  // `type` or f32
  onednn::ConvSpec conv;            // the sizes from x (in) to y (out), with the layouts of both; not transposed
  // Applied to what is written, not for kFilterGradient: + bias, + residual (kForward only), activation.
  bool bias = false;
  DType bias_type = DType::kF32;
  bool residual = false;
  Layout residual_layout = Layout::kPlain;
  Activation activation;
};

// Immutable and thread-safe.
class ConvStep {
 public:
  virtual ~ConvStep() = default;
  virtual int64_t workspace_bytes() const = 0;
  virtual std::string implementation() const = 0;
  // Whether it has its own copy of the filter, or of the bias, so that ConvArgs::w, or bias, is not read.
  virtual bool owns_filter() const { return false; }
  virtual bool owns_bias() const { return false; }
  // Enqueues. Pointers as in ConvArgs; filters are row-major; the workspace is 64-byte aligned.
  virtual absl::Status Run(Stream& stream, const ConvArgs& args) const = 0;
};

// `filter` and `bias`: the value in storage type if that is constant, else null. Sizes may be 0. The library takes an f32 filter, and an
// f32 bias that it adds, beside halves in their type: its engines for the mixture are compiled for each shape, which takes longer than most
// runs.
absl::StatusOr<std::unique_ptr<ConvStep>> MakeConvStep(const ConvTask& task, Device& device, const HostTensor* filter,
                                                       const HostTensor* bias);

}  // namespace ampc::cuda
