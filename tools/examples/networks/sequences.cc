// Networks that read an image row by row, and SimpleNet.
#include "graph/layers.h"
#include "tools/examples/networks/parts.h"

namespace ampc {

// An LSTM whose time steps are the rows; the class comes from its last state.
Network BuildLstm(ProgramBuilder& b) {
  const Value x = ImageFeed(b);
  Fp16Guard guard(b);
  const Value rows = layers::Transpose(b, layers::Reshape(b, x, {0, kRows, kRows}), {1, 0, 2});
  const Value last = layers::Lstm(b, rows, {.hidden = 128}).second;
  return Classify(b, x, b.FullyConnected(last, kClasses));
}

namespace {

// Vaswani et al. 2017, normalised after each sum.
Value EncoderLayer(ProgramBuilder& b, Value x, int features) {
  const layers::LayerNormOptions rows = {.begin_axis = 2};
  Value h = layers::Dropout(b, layers::SelfAttention(b, x, {.heads = 4}), {.prob = 0.1f});
  x = layers::LayerNorm(b, layers::Add(b, x, h), rows);
  h = b.FullyConnected(x, 2 * features, {.act = "relu", .flatten = 2});
  h = layers::Dropout(b, b.FullyConnected(h, features, {.flatten = 2}), {.prob = 0.1f});
  return layers::LayerNorm(b, layers::Add(b, x, h), rows);
}

}  // namespace

// Two encoder layers whose tokens are the rows, with learned positions; the class comes from the mean over the tokens.
Network BuildTransformer(ProgramBuilder& b) {
  constexpr int kFeatures = 64;
  const Value x = ImageFeed(b);
  Fp16Guard guard(b);
  Value h = b.FullyConnected(layers::Reshape(b, x, {0, kRows, kRows}), kFeatures, {.flatten = 2});
  h = layers::Add(b, h, b.Param("positions.w_0", DType::kF32, {kRows, kFeatures}, Initializer::Normal(0, 0.02)));
  for (int layer = 0; layer < 2; ++layer) h = EncoderLayer(b, h, kFeatures);
  return Classify(b, x, b.FullyConnected(layers::ReduceMean(b, h, {1}), kClasses));
}

// The network of Paddle's tutorial on mixed precision: three products of 4096 x 4096 on random data.
Network BuildSimpleNet(ProgramBuilder& b) {
  Network net;
  net.x = b.Feed("x", DType::kF32, {-1, kSimpleNetFeatures});
  Fp16Guard guard(b);
  Value h = b.FullyConnected(net.x, kSimpleNetFeatures, {.act = "relu"});
  h = b.FullyConnected(h, kSimpleNetFeatures, {.act = "relu"});
  net.output = b.FullyConnected(h, kSimpleNetFeatures);
  net.y = b.Feed("y", DType::kF32, {-1, kSimpleNetFeatures});
  net.loss = layers::MeanSquareError(b, net.output, net.y);
  return net;
}

}  // namespace ampc
