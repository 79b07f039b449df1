#include "passes/analysis/op_kinds.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc {
namespace {

struct Row {
  OpKind kind;
  absl::string_view ops;  // native names, and ONNX types that have none
};

constexpr Row kRows[] = {
    {OpKind::kLog, "log log2 log10 Log"},
    {OpKind::kSteepAtZero,
     "sqrt rsqrt log log2 log10 reciprocal pow elementwise_pow elementwise_div Sqrt Log Reciprocal Pow Div"},
    {OpKind::kReciprocal, "reciprocal rsqrt Reciprocal"},
    {OpKind::kDivision, "elementwise_div Div"},
    {OpKind::kAffine, "scale"},
    {OpKind::kBounded,
     "sigmoid tanh softmax relu6 clip hard_sigmoid log_softmax layer_norm instance_norm group_norm elementwise_min elementwise_max erf "
     "sin cos atan softsign Sigmoid Tanh Softmax Clip HardSigmoid LogSoftmax LayerNormalization InstanceNormalization "
     "GroupNormalization RMSNormalization MeanVarianceNormalization LpNormalization Min Max Erf Sin Cos Atan Softsign Hardmax"},
    {OpKind::kNormalized,
     "sigmoid tanh softmax relu6 hard_sigmoid layer_norm instance_norm group_norm erf sin cos atan softsign Sigmoid Tanh Softmax "
     "HardSigmoid LayerNormalization InstanceNormalization GroupNormalization RMSNormalization MeanVarianceNormalization "
     "LpNormalization Erf Sin Cos Atan Softsign Hardmax"},
    {OpKind::kSelection, "elementwise_min elementwise_max clip Min Max Clip"},
    {OpKind::kLoss, "softmax_with_cross_entropy cross_entropy SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss"},
    {OpKind::kSum, "reduce_mean reduce_sum mean sum ReduceMean ReduceSum GlobalAveragePool AveragePool Sum"},
    {OpKind::kShapeReader, "shape size rank Shape Size"},
    {OpKind::kProduct, "elementwise_mul Mul"},
    {OpKind::kPower, "square pow elementwise_pow Pow"},
    {OpKind::kRoot, "sqrt rsqrt Sqrt"},
    {OpKind::kAdditive, "elementwise_add elementwise_sub elementwise_min elementwise_max clip Add Sub Min Max Clip"},
    {OpKind::kExtremum, "reduce_max reduce_min ReduceMax ReduceMin"},
    {OpKind::kExp, "exp Exp"},
    {OpKind::kArithmetic,
     "elementwise_add elementwise_sub elementwise_mul elementwise_div scale sum Add Sub Mul Div Sum Neg"},
    {OpKind::kTurns, "sin cos tan Sin Cos Tan"},
    {OpKind::kRemainder, "elementwise_mod Mod"},
    {OpKind::kRunning, "cumsum CumSum"},
    {OpKind::kHandsOn, "write_to_array read_from_array select_input"},
    {OpKind::kSampler, "grid_sampler roi_align roi_pool GridSample RoiAlign MaxRoiPool"},
    {OpKind::kChooser, "non_max_suppression NonMaxSuppression"},
    {OpKind::kRectifier, "relu relu6 brelu hard_shrink thresholded_relu Relu ThresholdedRelu Shrink"},
    {OpKind::kWhole, "floor ceil round trunc elementwise_floordiv Floor Ceil Round"},
};

uint32_t KindsOf(absl::string_view name) {
  static const auto* const kKinds = [] {
    auto* kinds = new absl::flat_hash_map<absl::string_view, uint32_t>();
    for (const Row& row : kRows) {
      for (absl::string_view op : absl::StrSplit(row.ops, ' ')) (*kinds)[op] |= static_cast<uint32_t>(row.kind);
    }
    return kinds;
  }();
  const auto it = kKinds->find(name);
  return it == kKinds->end() ? 0 : it->second;
}

}  // namespace

uint32_t KindsOf(const OpDef& def) {
  const uint32_t kinds = KindsOf(onnx::NativeName(def));
  return onnx::DefOf(def) == nullptr ? kinds : kinds | KindsOf(onnx::TypeName(def));
}

bool Is(const Op& op, OpKind kind) { return (KindsOf(op.def()) & static_cast<uint32_t>(kind)) != 0; }

}  // namespace ampc
