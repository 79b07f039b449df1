#include "tools/examples/networks/networks.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/layers.h"
#include "tools/examples/networks/parts.h"

namespace ampc {
namespace {

constexpr NetworkInfo kNetworks[] = {
    {"guarded", "convolution, batch norm, pooling, product: the example of Paddle's fp16 guard", NetworkData::kImages, 64, "momentum", 0.01,
     0, BuildGuarded},
    {"lenet", "two convolutions, three products", NetworkData::kImages, 64, "momentum", 0.01, 0, BuildLeNet},
    {"resnet18", "eight residual blocks of 64 to 512 channels", NetworkData::kImages, 64, "momentum", 0.01, 0, BuildResNet18},
    {"lstm", "an LSTM of 128 units over the rows of an image", NetworkData::kImages, 64, "adam", 0.001, 0, BuildLstm},
    {"transformer", "two encoder layers over the rows of an image", NetworkData::kImages, 64, "adam", 0.001, 0, BuildTransformer},
    {"simplenet", "three products of 4096 x 4096 on random data", NetworkData::kRandom, 512, "sgd", 0.0001, kSimpleNetFeatures,
     BuildSimpleNet},
};

}  // namespace

absl::Span<const NetworkInfo> Networks() { return kNetworks; }

absl::StatusOr<const NetworkInfo*> FindNetwork(absl::string_view name) {
  std::vector<std::string> names;
  for (const NetworkInfo& info : kNetworks) {
    if (name == info.name) return &info;
    names.push_back(info.name);
  }
  return UsageError(absl::StrCat("found network '", name, "', needed one of ", absl::StrJoin(names, ", "), Suggest(name, names)));
}

Value ImageFeed(ProgramBuilder& b) { return b.Feed("x", DType::kF32, {-1, 1, kRows, kRows}); }

Network Classify(ProgramBuilder& b, Value x, Value logits) {
  Network net;
  net.x = x;
  net.output = logits;
  net.y = b.Feed("y", DType::kI64, {-1, 1});
  net.loss = b.Mean(b.SoftmaxWithCrossEntropy(logits, net.y));
  net.accuracy = layers::Accuracy(b, logits, net.y);
  return net;
}

}  // namespace ampc
