// Operators that ONNX Runtime's optimizer makes of matrix products and convolutions with their readers.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/activation_util.h"
#include "graph/ops/onnx/conv.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/layout_util.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/product.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

// The activation that a FusedConv names: its numbers are a list.
FusedActivation ActivationOfConv(const Lowering& l) {
  FusedActivation activation{l.GetString("activation"), std::nullopt, std::nullopt};
  const std::vector<double> numbers = l.GetFloats("activation_params");
  if (!numbers.empty()) activation.alpha = numbers[0];
  if (numbers.size() > 1) activation.beta = numbers[1];
  return activation;
}

FusedActivation ActivationOfProduct(const Lowering& l) {
  FusedActivation activation{l.GetString("activation"), std::nullopt, std::nullopt};
  if (l.HasAttr("activation_alpha")) activation.alpha = l.GetFloat("activation_alpha");
  if (l.HasAttr("activation_beta")) activation.beta = l.GetFloat("activation_beta");
  return activation;
}

// Y = activation(conv(X, W) + B + Z).
void LowerFusedConv(Lowering& l) {
  const bool last = TypeName(l.op().def()) != "com.microsoft.FusedConv";  // channels
  Var* x = last ? ChannelsFirst(l, l.In("X")) : l.In("X");
  Var* y = Convolved(l, x, l.In("W"), l.Has("B") ? l.In("B") : nullptr);
  if (last) y = ChannelsLast(l, y);
  if (l.Has("Z")) y = l.Binary("elementwise_add", y, l.In("Z"));
  l.Result("Y", Activated(l, y, ActivationOfConv(l)));
}

void LowerNhwcConv(Lowering& l) {
  l.Result("Y", ChannelsLast(l, Convolved(l, ChannelsFirst(l, l.In("X")), l.In("W"), l.Has("B") ? l.In("B") : nullptr)));
}

// The matrices with their first dim moved behind those of the batch, where `attr` says so: [m, batch, k] as [batch, m, k].
Var* BatchFirst(Lowering& l, Var* x, const char* attr) {
  const int rank = l.GetInt(attr) == 0 ? 0 : l.Rank(x);
  if (rank < 3) return x;
  std::vector<int> perm;
  for (int i = 1; i < rank - 1; ++i) perm.push_back(i);
  perm.push_back(0);
  perm.push_back(rank - 1);
  return l.Transpose(x, perm);
}

void LowerFusedMatMul(Lowering& l) {
  const bool batches = l.op().def().FindAttr("transBatchA") != nullptr;
  Var *a = l.In("A"), *b = l.In("B");
  if (batches) {
    a = BatchFirst(l, a, "transBatchA");
    b = BatchFirst(l, b, "transBatchB");
  }
  // A vector has nothing to transpose.
  const auto transposed = [&](const Var* x, const char* attr) { return l.GetInt(attr) != 0 && l.Rank(x) != 1; };
  Var* y = l.Op("matmul_v2", {{"X", a}, {"Y", b}}, {{"trans_x", transposed(a, "transA")}, {"trans_y", transposed(b, "transB")}});
  const float alpha = static_cast<float>(l.GetFloat("alpha"));
  if (alpha != 1) y = Map(l, "scale", y, {{"scale", alpha}});
  l.Result("Y", l.op().def().FindAttr("activation") == nullptr ? y : Activated(l, y, ActivationOfProduct(l)));
}

void LowerFusedGemm(Lowering& l) { l.Result("Y", Activated(l, GemmProduct(l), ActivationOfProduct(l))); }

void LowerGemmFastGelu(Lowering& l) {
  Var* y = l.Binary("matmul_v2", l.In("X"), l.In("W"));
  if (l.Has("bias")) y = l.Binary("elementwise_add", y, l.In("bias"));
  l.Result("Y", Map(l, "gelu", y, {{"approximate", true}}));
}

struct ActivationRow {
  const char* name;  // of the activation
  const char* native;
  const char* alpha;  // attributes of the native op
  double default_alpha;
  const char* beta;
  double default_beta;
};
constexpr ActivationRow kActivations[] = {
    {"Relu", "relu", nullptr, 0, nullptr, 0},
    {"Tanh", "tanh", nullptr, 0, nullptr, 0},
    {"Sigmoid", "sigmoid", nullptr, 0, nullptr, 0},
    {"Softsign", "softsign", nullptr, 0, nullptr, 0},
    {"HardSwish", "hard_swish", nullptr, 0, nullptr, 0},
    {"Gelu", "gelu", nullptr, 0, nullptr, 0},
    {"LeakyRelu", "leaky_relu", "alpha", 0.01, nullptr, 0},
    {"Elu", "elu", "alpha", 1, nullptr, 0},
    {"Celu", "celu", "alpha", 1, nullptr, 0},
    {"ThresholdedRelu", "thresholded_relu", "threshold", 1, nullptr, 0},
    {"HardSigmoid", "hard_sigmoid", "slope", 0.2, "offset", 0.5},
    {"Selu", "selu", "alpha", 1.67326319217681884765625, "scale", 1.05070102214813232421875},
    {"Clip", "clip", "min", -3.4028234663852886e38, "max", 3.4028234663852886e38},
};

}  // namespace

Var* Activated(Lowering& l, Var* x, const FusedActivation& activation) {
  if (activation.name.empty()) return x;
  if (activation.name == "Softplus") return Map(l, "softplus", x, {{"threshold", 40.0f}});
  for (const ActivationRow& row : kActivations) {
    if (activation.name != row.name) continue;
    Lowering::Attrs attrs;
    if (row.alpha != nullptr) attrs.push_back({row.alpha, static_cast<float>(activation.alpha.value_or(row.default_alpha))});
    if (row.beta != nullptr) attrs.push_back({row.beta, static_cast<float>(activation.beta.value_or(row.default_beta))});
    return Map(l, row.native, x, std::move(attrs));
  }
  l.Unsupported(absl::StrCat("the activation '", activation.name, "' is not known"));
  return x;
}

void AddFused(OnnxOps& ops) {
  ops.Add("com.microsoft.FusedConv").Like("conv2d").Lower(&LowerFusedConv);
  ops.Add("com.microsoft.NhwcFusedConv").Like("conv2d").Lower(&LowerFusedConv);
  ops.Add("com.microsoft.NhwcConv").Like("conv2d").Lower(&LowerNhwcConv);
  for (const char* name : {"FusedMatMul", "TransposeMatMul", "FusedMatMulActivation"}) {
    ops.Add(absl::StrCat("com.microsoft.", name)).Like("matmul_v2").Lower(&LowerFusedMatMul);
  }
  ops.Add("com.microsoft.FusedGemm").Like("matmul_v2").Lower(&LowerFusedGemm);
  ops.Add("com.microsoft.GemmFastGelu").Like("matmul_v2").Lower(&LowerGemmFastGelu);
}

}  // namespace ampc::onnx
