// Convolutions as fusions see them and put things into them.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/program.h"

namespace ampc {

// conv2d or depthwise_conv2d.
bool IsImageConv(const Op& op);
// One of these or conv3d.
bool IsConv(const Op& op);
// Of Input and Output, which have `rank` dims.
int ConvChannelDim(const Op& conv, int rank);
// An activation is fused into the op: a convolution, a matrix product or a batch norm.
bool HasActivation(const Op& op);
// Gives a convolution a new filter, named with `suffix`, and a bias, both rounded to `dtype`.
void SetConvConstants(Op& conv, absl::string_view suffix, DType dtype, absl::Span<const float> filter, absl::Span<const float> bias);

}  // namespace ampc
