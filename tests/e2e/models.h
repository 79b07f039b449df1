// Small programs of the command line's tests.
#pragma once

namespace ampc::testing {

// Two products with a softmax behind; no weight is a half, so that narrowing shows.
inline constexpr char kMlp[] = R"(program mlp version=1

block main {
  feed  x : f32 [?, 4]
  param w1 : f32 [4, 3] = [0.1, -0.2, 0.3, 0.4, 0.7, -0.6, 0.9, 0.11, -0.13, 0.17, 0.19, 0.23]
  param b1 : f32 [3] = [0.01, 0.02, -0.03]
  param w2 : f32 [3, 2] = [1.1, -1.2, 1.3, 1.4, -1.7, 1.9]
  h = matmul_v2(x, w1) : f32 [?, 3]
  s = elementwise_add(h, b1) : f32 [?, 3]
  r = relu(s) : f32 [?, 3]
  logits = matmul_v2(r, w2) : f32 [?, 2]
  p = softmax(logits) : f32 [?, 2]
  fetch p
}
)";

// A product, and an exponential that must not be low.
inline constexpr char kExp[] = R"(program exp version=1

block main {
  feed  x : f32 [?, 4]
  param w : f32 [4, 4] = 0.1
  h = matmul_v2(x, w) : f32 [?, 4]
  y = exp(h) : f32 [?, 4]
  fetch y
}
)";

// A convolution with a normalisation, pooling, and a reshape.
inline constexpr char kConvNet[] = R"(program conv_net version=1

block main {
  feed  image : f32 [?, 1, 4, 4]
  param conv.w : f32 [2, 1, 3, 3] = 0.1
  param bn.scale : f32 [2] = [1.1, 0.9]
  param bn.bias : f32 [2] = [0.1, -0.1]
  param bn.mean : f32 [2] = [0.3, 0.2]
  param bn.variance : f32 [2] = [1.3, 0.7]
  conv2d(Input=image, Filter=conv.w) -> Output=c paddings=[1, 1] : f32 [?, 2, 4, 4]
  batch_norm(X=c, Scale=bn.scale, Bias=bn.bias, Mean=bn.mean, Variance=bn.variance) -> Y=n is_test=true : f32 [?, 2, 4, 4]
  a = relu(n) : f32 [?, 2, 4, 4]
  q = pool2d(a) ksize=[2, 2] pooling_type="max" strides=[2, 2] : f32 [?, 2, 2, 2]
  y, y.xshape = reshape2(q) shape=[0, 8] : f32 [?, 8], f32 [0, ?, 2, 2, 2]
  fetch y
}
)";

// An op that no record knows, between two that have one.
inline constexpr char kUnknownOp[] = R"(program unknown_op version=1

block main {
  feed  x : f32 [?, 4]
  param w : f32 [4, 4] = 0.1
  h = matmul_v2(x, w) : f32 [?, 4]
  my_own_op(X=[h]) -> Out=[m] strength=3 !opaque : f32 [?, 4]
  y = relu(m) : f32 [?, 4]
  fetch y
}
)";

// Declares another type than relu has: read, but not well formed.
inline constexpr char kIllFormed[] = R"(program ill_formed version=1

block main {
  feed  x : f32 [2, 4]
  y = relu(x) : f32 [2, 5]
  fetch y
}
)";

// Control flow: carried through a conversion, not executed.
inline constexpr char kBranch[] = R"(program branch version=1

block main {
  feed  x : f32 [?, 4]
  feed  flag : bool [1]
  param w : f32 [4, 4] = 0.1
  carry y : f32 [?, 4]
  y <- conditional_block(Cond=[flag], Input=[x]) is_scalar_condition=true sub_block=&then
  out = sigmoid(y) : f32 [?, 4]
  fetch out
}

block then parent=main {
  y <- matmul_v2(x, w)
}
)";

}  // namespace ampc::testing
