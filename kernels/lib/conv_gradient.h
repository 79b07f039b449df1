// The gradient of a convolution's filter on oneDNN. That of its operand is a convolution of the other kind: see conv.h.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/lib/conv.h"

namespace ampc::onednn {

// `spec` with operand and result exchanged: from the result's gradient and the same filter it computes the operand's gradient. Bias,
// residual and activation are left out.
ConvSpec Mirrored(const ConvSpec& spec);

// Immutable; several threads may Run it at the same time.
class FilterGradient {
 public:
  virtual ~FilterGradient() = default;
  virtual int64_t workspace_bytes() const = 0;
  virtual std::string implementation() const = 0;
  // f32: the operand in spec.in, the result's gradient in spec.out, and the filter's gradient row-major.
  virtual absl::Status Run(const float* in, const float* out, float* filter, void* workspace) const = 0;
};

// Of a convolution that is not transposed; that of a transposed one is that of its mirror, whose operand is the result's gradient. The
// batch is cut by the shapes alone and each part runs on one thread, so results do not depend on spec.threads. Unimplemented when oneDNN
// has no implementation.
absl::StatusOr<std::unique_ptr<FilterGradient>> MakeFilterGradient(const ConvSpec& spec);

}  // namespace ampc::onednn
