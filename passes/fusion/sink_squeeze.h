// sink-squeeze: what follows a convolution of one dimension reads its image, of one row, and the row becomes a line behind it.
//
//   y = conv2d(x, w)          : [b, c, 1, l]         y = conv2d(x, w)         : [b, c, 1, l]
//   s = squeeze2(y) axes=[2]  : [b, c, l]            t = relu(y)              : [b, c, 1, l]
//   r = relu(s)               : [b, c, l]      ->    r = squeeze2(t) axes=[2] : [b, c, l]
//   u = unsqueeze2(r) axes=[2]: [b, c, 1, l]         z = conv2d(t, v)         : [b, c, 1, l]
//   z = conv2d(u, v)          : [b, c, 1, l]
//
// The same for element-wise ops of several operands, batch_norm, prelu, concat and slice; for every image, from which one dimension of size
// 1 is taken. Nothing moves past a reader: values that others read or fetch stay. Then activations are fused, and layouts hold. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo SinkSqueezePass();

}  // namespace ampc
