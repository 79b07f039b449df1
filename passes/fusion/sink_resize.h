// sink-resize: a pointwise convolution of images that were enlarged and joined comes before the enlargement, where there is less to
// compute.
//
//   r = bilinear_interp_v2(a) out_h=48 out_w=48      p = conv2d(a, w_a)
//   c = concat(r, x) axis=1                          r = bilinear_interp_v2(p) out_h=48 out_w=48
//   y = conv2d(c, w, b)                        ->    q = conv2d(x, w_x, b)
//                                                    y = elementwise_add(q, r)
//
// Interpolation weighs channels alike, so both orders compute the same sums. Such convolutions alone read the joined value and have no more
// channels than the enlarged image; it grows to at least twice its size, and another image is not enlarged. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo SinkResizePass();

}  // namespace ampc
