// fuse-bias-act: what follows a convolution or a product element by element happens inside its kernel.
//
//   y = conv2d(x, w)                         conv2d(Input=x, Filter=w, Bias=b, ResidualData=r) -> Output=z
//   t = elementwise_add(y, b) axis=1            fuse_activation="relu"
//   u = elementwise_add(t, r)          ->
//   z = relu(u)
//
//   y = matmul_v2(x, w)
//   t = elementwise_add(y, b)          ->    fc(Input=x, W=w, Bias=b) -> Out=z fuse_activation="relu" in_num_col_dims=1
//   z = relu(t)
//
// z = act(conv(x, w) + b + r). Each step is optional; every value in between is read once and not fetched. Casts between float types may
// lie in between: a chain goes as far as its values are of the convolution's type again.
// A bias has one element per channel; a residual has the very shape of the result, as far as that is known before the run.
// matmul_v2 and mul become fc where the right operand is a matrix. The fused op stands where the last op of the chain stood.
// Activations: relu, relu6, leaky_relu, sigmoid, tanh, gelu, swish, silu, hard_swish, hard_sigmoid (fuse_alpha, fuse_beta as Paddle's
// fused convolution). Products and sums with numbers behind a convolution's activation become fuse_scale and fuse_shift. The
// roundings between the steps of a low chain go.
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo FuseBiasActPass();

}  // namespace ampc
