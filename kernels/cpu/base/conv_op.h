// The convolution that an op is: the one place that reads conv2d, conv3d, the depthwise and the transposed ones, for the ops and their
// gradients.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/lib/conv.h"

namespace ampc {

// The op is of `type` or its gradient; `in` and `out` are the convolution's operand and result. Without bias, residual and activation.
absl::StatusOr<onednn::ConvSpec> ReadConv(const SpecView& view, absl::string_view type, const TensorDesc& in, const TensorDesc& out);

// The op itself, with bias, residual and activation.
absl::StatusOr<onednn::ConvSpec> ReadFusedConv(const SpecView& view);

// Tensors of an NHWC op lie as channels-last ones of an NCHW op do.
Layout ConvLayout(const SpecView& view, const TensorDesc& t);

}  // namespace ampc
