// Convolutional networks: the example of the fp16 guard, LeNet, ResNet-18.
#include "graph/layers.h"
#include "tools/examples/networks/parts.h"

namespace ampc {

// The example of Paddle's fp16 guard: the convolution stays fp32 where the guard counts.
Network BuildGuarded(ProgramBuilder& b) {
  const Value x = ImageFeed(b);
  const Value h = b.Conv2D(x, {.filters = 6, .kernel = 3, .bias = false});
  Fp16Guard guard(b);
  const Value normal = b.BatchNorm(h, {.act = "relu"});
  const Value pooled = b.Pool2D(normal, {.type = "max", .size = 2, .stride = 2});
  return Classify(b, x, b.FullyConnected(pooled, kClasses));
}

// LeCun et al. 1998, with rectifiers and max pooling: two convolutions, three products.
Network BuildLeNet(ProgramBuilder& b) {
  const Value x = ImageFeed(b);
  Fp16Guard guard(b);
  Value h = b.Conv2D(x, {.filters = 6, .kernel = 5, .padding = 2, .act = "relu"});
  h = b.Pool2D(h, {.size = 2, .stride = 2});
  h = b.Conv2D(h, {.filters = 16, .kernel = 5, .act = "relu"});
  h = b.Pool2D(h, {.size = 2, .stride = 2});
  h = b.FullyConnected(h, 120, {.act = "relu"});
  h = b.FullyConnected(h, 84, {.act = "relu"});
  return Classify(b, x, b.FullyConnected(h, kClasses));
}

namespace {

Value ConvNorm(ProgramBuilder& b, Value x, int filters, int kernel, int stride, const char* act) {
  const Value h = b.Conv2D(x, {.filters = filters, .kernel = kernel, .stride = stride, .padding = kernel / 2, .bias = false});
  return b.BatchNorm(h, {.act = act});
}

Value ResidualBlock(ProgramBuilder& b, Value x, int filters, int stride) {
  Value h = ConvNorm(b, x, filters, 3, stride, "relu");
  h = ConvNorm(b, h, filters, 3, 1, "");
  const bool same = stride == 1 && x.var != nullptr && x.var->type.dims[1] == filters;
  return b.Relu(b.Add(h, same ? x : ConvNorm(b, x, filters, 1, stride, "")));
}

}  // namespace

// He et al. 2015, as for other small images: a first convolution of 3 x 3 with stride 1 and no pooling after it.
Network BuildResNet18(ProgramBuilder& b) {
  const Value x = ImageFeed(b);
  Fp16Guard guard(b);
  Value h = ConvNorm(b, x, 64, 3, 1, "relu");
  for (int stage = 0; stage < 4; ++stage) {
    h = ResidualBlock(b, h, 64 << stage, stage == 0 ? 1 : 2);
    h = ResidualBlock(b, h, 64 << stage, 1);
  }
  h = b.Pool2D(h, {.type = "avg", .global = true});
  return Classify(b, x, b.FullyConnected(h, kClasses));
}

}  // namespace ampc
