// fuse-layer-norm: a layer normalisation that a model spells out becomes one op.
//
//   d = x - reduce_mean(x, last dims)             ->     y = layer_norm(X=x, Scale=g, Bias=b) epsilon=<e>
//   s = sqrt(reduce_mean(d * d, last dims) + e)
//   y = d / s * g + b
//
// g and b are constants for the last dimension, either may be missing; casts between float types may lie in between; what does is read by
// nothing else. In a low chain roundings go. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo FuseLayerNormPass();

}  // namespace ampc
