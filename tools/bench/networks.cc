#include "tools/bench/networks.h"

#include <functional>
#include <random>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "graph/base/status_macros.h"
#include "graph/layers.h"

namespace ampc {
namespace {

constexpr int kChainOps = 10000;
constexpr int kImageSize = 224;
constexpr int kImageClasses = 1000;
constexpr int kTokens = 128;
constexpr int kWords = 30522;
constexpr int kFeatures = 768;
constexpr int kSimpleNetFeatures = 4096;

absl::StatusOr<HostTensor> Uniform(absl::Span<const int64_t> dims, uint32_t seed) {
  AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::Create(DType::kF32, dims));
  std::minstd_rand random(seed + 1);
  for (float& v : t.mutable_values<float>()) v = static_cast<float>(random() % 4096) / 2048.0f - 1;
  return t;
}

absl::StatusOr<HostTensor> Integers(absl::Span<const int64_t> dims, int64_t below, uint32_t seed) {
  AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::Create(DType::kI64, dims));
  std::minstd_rand random(seed + 1);
  for (int64_t& v : t.mutable_values<int64_t>()) v = static_cast<int64_t>(random()) % below;
  return t;
}

Value ConvNorm(ProgramBuilder& b, Value x, int filters, int kernel, int stride, const char* act) {
  const Value h = b.Conv2D(x, {.filters = filters, .kernel = kernel, .stride = stride, .padding = kernel / 2, .bias = false});
  return b.BatchNorm(h, {.act = act});
}

// 1 x 1, 3 x 3 (with the stride), 1 x 1 to four times the filters; the first of a stage has a 1 x 1 beside it.
Value Bottleneck(ProgramBuilder& b, Value x, int filters, int stride, bool first) {
  Value h = ConvNorm(b, x, filters, 1, 1, "relu");
  h = ConvNorm(b, h, filters, 3, stride, "relu");
  h = ConvNorm(b, h, 4 * filters, 1, 1, "");
  return b.Relu(b.Add(h, first ? ConvNorm(b, x, 4 * filters, 1, stride, "") : x));
}

Network Classified(ProgramBuilder& b, Value x, Value logits) {
  Network net;
  net.x = x;
  net.output = logits;
  net.y = b.Feed("y", DType::kI64, {-1, 1});
  net.loss = b.Mean(b.SoftmaxWithCrossEntropy(logits, net.y));
  return net;
}

// He et al. 2015, 50 layers, on 224 x 224.
Network BuildResNet50(ProgramBuilder& b) {
  const Value x = b.Feed("x", DType::kF32, {-1, 3, kImageSize, kImageSize});
  Fp16Guard guard(b);
  Value h = ConvNorm(b, x, 64, 7, 2, "relu");
  h = b.Pool2D(h, {.type = "max", .size = 3, .stride = 2, .padding = 1});
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < blocks[stage]; ++i) h = Bottleneck(b, h, 64 << stage, stage > 0 && i == 0 ? 2 : 1, i == 0);
  }
  h = b.Pool2D(h, {.type = "avg", .global = true});
  return Classified(b, x, b.FullyConnected(h, kImageClasses));
}

// An encoder of the size of BERT base (Devlin et al. 2018): 12 layers of 12 heads, 768 features, 128 tokens; a class from the mean.
Network BuildBert(ProgramBuilder& b) {
  const Value x = b.Feed("x", DType::kI64, {-1, kTokens});
  Fp16Guard guard(b);
  const layers::LayerNormOptions rows = {.begin_axis = 2};
  Value h = layers::Embedding(b, x, kWords, kFeatures);
  h = layers::Add(b, h, b.Param("positions.w_0", DType::kF32, {kTokens, kFeatures}, Initializer::Normal(0, 0.02)));
  h = layers::LayerNorm(b, h, rows);
  for (int layer = 0; layer < 12; ++layer) {
    h = layers::LayerNorm(b, layers::Add(b, h, layers::SelfAttention(b, h, {.heads = 12})), rows);
    const Value wide = b.FullyConnected(h, 4 * kFeatures, {.act = "gelu", .flatten = 2});
    h = layers::LayerNorm(b, layers::Add(b, h, b.FullyConnected(wide, kFeatures, {.flatten = 2})), rows);
  }
  return Classified(b, x, b.FullyConnected(layers::ReduceMean(b, h, {1}), 2));
}

// Ops that do next to nothing: what is measured is the executor.
Network BuildChain(ProgramBuilder& b) {
  Network net;
  net.x = b.Feed("x", DType::kF32, {1});
  net.output = net.x;
  for (int i = 0; i < kChainOps; ++i) net.output = b.Relu(net.output);
  net.loss = b.Mean(net.output);
  return net;
}

// Of x, and y where labels are wanted.
absl::StatusOr<TensorMap> Feeds(absl::StatusOr<HostTensor> x, bool labels, const std::function<absl::StatusOr<HostTensor>()>& y) {
  TensorMap feeds;
  AMPC_ASSIGN_OR_RETURN(feeds["x"], std::move(x));
  if (!labels) return feeds;
  AMPC_ASSIGN_OR_RETURN(feeds["y"], y());
  return feeds;
}

constexpr BenchNetwork kNetworks[] = {
    {"simplenet", "three products of 4096 x 4096", "row", BuildSimpleNet,
     [](int64_t batch, bool labels) {
       return Feeds(Uniform({batch, kSimpleNetFeatures}, 1), labels, [batch] { return Uniform({batch, kSimpleNetFeatures}, 2); });
     }},
    {"resnet50", "ResNet-50 on 224 x 224, random weights", "image", BuildResNet50,
     [](int64_t batch, bool labels) {
       return Feeds(Uniform({batch, 3, kImageSize, kImageSize}, 1), labels, [batch] { return Integers({batch, 1}, kImageClasses, 2); });
     }},
    {"bert", "an encoder of the size of BERT base on 128 tokens, random weights", "sequence", BuildBert,
     [](int64_t batch, bool labels) {
       return Feeds(Integers({batch, kTokens}, kWords, 1), labels, [batch] { return Integers({batch, 1}, 2, 2); });
     }},
    {"chain", "10,000 relu of one element", "run", BuildChain, [](int64_t, bool) { return Feeds(Uniform({1}, 1), false, nullptr); }},
};

}  // namespace

absl::Span<const BenchNetwork> BenchNetworks() { return kNetworks; }

std::string BenchNetworkNames() {
  return absl::StrJoin(kNetworks, ", ", [](std::string* out, const BenchNetwork& network) { *out += network.name; });
}

const BenchNetwork* FindBenchNetwork(absl::string_view name) {
  for (const BenchNetwork& network : kNetworks) {
    if (name == network.name) return &network;
  }
  return nullptr;
}

}  // namespace ampc
