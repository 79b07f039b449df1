// fuse-scale: a product with a number and a sum with a number become one op.
//
//   t = elementwise_mul(s, x)     ->     u = scale(x) scale=<s> bias=<c>
//   u = elementwise_add(t, c)
//
// s and c are constants of one element; t is read once. Also a chain of scale ops. In a low chain one rounding goes. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo FuseScalePass();

}  // namespace ampc
