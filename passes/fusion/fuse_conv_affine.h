// fuse-conv-affine: products and sums with constants disappear into the convolution behind or in front of them.
//
//   y = conv2d(x, w, b)             conv2d(Input=x, Filter=w.affine, Bias=y.bias) -> Output=u
//   t = elementwise_mul(y, s)       w.affine = w * s, y.bias = b * s + c
//   u = elementwise_add(t, c)
//
//   t = elementwise_mul(x, s)       conv2d(Input=x, Filter=w.affine, Bias=z.bias) -> Output=z
//   u = elementwise_add(t, c)       w.affine = w * s, z.bias = b + c * (sum of w per output channel)
//   z = conv2d(u, w, b)             only where the convolution does not pad, and s and c are numbers
//
// s and c are constants: numbers or one element per output channel; op scale counts as both. Every value in between is read
// once. Computed in double; the filter keeps its type. A lone sum is left to fuse-bias-act. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo FuseConvAffinePass();

}  // namespace ampc
