// fuse-conv-bn: a batch norm with fixed statistics disappears into the convolution in front of it.
//
//   y = conv2d(x, w)                            const w.bn, y.bias
//   z = batch_norm(y, scale, bias, mean, var)   conv2d(Input=x, Filter=w.bn, Bias=y.bias) -> Output=z
//
// w.bn = w * scale / sqrt(var + epsilon), y.bias = bias - mean * scale / sqrt(var + epsilon), computed in double. Needs all five
// as constants (a param with its weight, or a literal) and a convolution result that only the batch norm reads. A bias that
// the convolution has is included. Both are float32. In a low program the rounding between the two ops goes,
// as in every fused kernel; with excess=true, for a CPU that keeps what float32 computed, a cast between float types may lie in between and
// stays. Convolutions: conv2d, depthwise_conv2d.
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo FuseConvBnPass();

}  // namespace ampc
