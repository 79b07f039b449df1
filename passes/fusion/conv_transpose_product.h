// conv-transpose-to-product: a transposed convolution whose windows lie side by side becomes a matrix product and moves.
//
//   y = conv2d_transpose(x, w) strides=[s, t]     ->     p = matmul_v2(transpose2(x), w.product) : [n, h, w, s * t * c]
//                                                        y = transpose2(p) by reshapes           : [n, c, h * s, w * t]
//
// Windows of the size of the strides, without padding, groups or an activation; the filter and the bias are constants of the type of x. All
// sizes of y but one are known. O(program), and the filters once.
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo ConvTransposeToProductPass();

}  // namespace ampc
