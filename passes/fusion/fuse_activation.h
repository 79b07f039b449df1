// fuse-activation: activations that a model spells out become one op each.
//
//   e = erf(x / 1.41421)                          ->     y = gelu(x)
//   y = x * (e + 1) * 0.5
//   t = tanh(0.79788 * (x + 0.044715 * x^3))      ->     y = gelu(x) approximate
//   y = x * (t + 1) * 0.5
//   y = x * clip(x + 3, 0, 6) / 6                 ->     y = hard_swish(x)
//   y = x * sigmoid(<beta> * x)                   ->     y = swish(x) beta=<beta>
//   y = x * tanh(softplus(x))                     ->     y = mish(x)
//   y = x * hard_sigmoid(x, 1/6, 1/2)             ->     y = hard_swish(x)
//   y = clip(x, 0, 6)                             ->     y = relu6(x)
//
// Products and sums in any order; casts between float types may lie in between; what does is read by nothing else. In a low chain roundings
// go. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo FuseActivationPass();

}  // namespace ampc
