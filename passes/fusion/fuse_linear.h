// fuse-linear: a linear layer of a training program and its gradient become one op each, for a device whose library computes bias,
// activation, their gradients and the sums of the bias's gradient inside its products.
//
//   y = mul(x, w)                                        fused_gemm_epilogue(X=x, Y=w, Bias=b) -> Out=h, ReserveSpace=m
//   z = elementwise_add(y, b) axis=1              ->         activation="relu"
//   h = relu(z)
//
//   elementwise_add_grad(X=y, Y=b, Out@GRAD=dz)          fused_gemm_epilogue_grad(DOut=dz, X=x, Y=w, ReserveSpace=n)
//       -> X@GRAD=dy, Y@GRAD=db                              -> DX=du, DY=dw, DBias=db activation_grad="relu_grad"
//   mul_grad(X=x, Y=w, Out@GRAD=dy)               ->
//       -> X@GRAD=dx, Y@GRAD=dw
//   du = relu_grad(Out=x, Out@GRAD=dx)
//
// Products: mul and matmul_v2 of a matrix on the right; activations: relu, and gelu by tanh. The gradient of an activation goes into the
// gradient of the layer that reads its result, where x is the result of such a layer and nothing else has a part in dx; elsewhere it stays.
// Nothing but the ops that go reads y and dy, and the operand of relu; that of gelu is what ReserveSpace holds, for anyone. All values have
// one type. The roundings of y, z and dx go with them. A layer without a gradient has its forward part fused. The main block only; the
// fused op stands where the addition (its gradient) stood. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo FuseLinearPass();

}  // namespace ampc
