// fuse-quantized: a product of dequantised operands, with what follows up to the op that quantises its result, becomes one product of
// integers.
//
//   a = affine_dequantize(x, sx, zx)                          ->     q = quantized_conv2d(x, w, sx, zx, sw, -, b, sy, zy)
//   f = affine_dequantize(w, sw) axis=0                                    fuse_activation="relu" out_dtype=u8
//   c = conv2d(a, f, b)
//   r = relu(c)
//   q = affine_quantize(r, sy, zy)
//
// conv2d and depthwise_conv2d, matmul_v2 without trans_x; a bias beside matmul_v2, relu, relu6 and clip from 0. If nothing quantises the
// result, it is fp32. Sums are exact, so a result is within a rounding of the unfused one, a quantised one within a step. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo FuseQuantizedPass();

}  // namespace ampc
