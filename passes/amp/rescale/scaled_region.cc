#include "passes/amp/rescale/scaled_region.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/protect/stored_losses.h"

namespace ampc {
namespace {

// clang-format off
// f(2^k * x) = 2^k * f(x), of one operand. The types of ONNX's operators, not their native ops, which may compute something else besides.
constexpr std::array kHomogeneous = std::to_array<absl::string_view>({
    "Abs", "AveragePool", "DepthToSpace", "Expand", "Flatten", "Gather", "GatherND", "GlobalAveragePool", "GlobalMaxPool", "Identity",
    "LeakyRelu", "MaxPool", "Pad", "ReduceL1", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Relu", "Reshape", "Slice",
    "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", "abs", "assign", "bicubic_interp_v2", "bilinear_interp_v2",
    "expand_as_v2", "expand_v2", "flatten", "flatten2", "flatten_contiguous_range", "flip", "gather", "gather_nd", "index_select",
    "leaky_relu", "linear_interp_v2", "mean", "nearest_interp_v2", "pad", "pad2d", "pad3d", "pixel_shuffle", "pool2d", "pool3d",
    "reduce_max", "reduce_mean", "reduce_min", "reduce_sum", "relu", "reshape", "reshape2", "roll", "slice", "split", "squeeze",
    "squeeze2", "strided_slice", "tile", "transpose", "transpose2", "trilinear_interp_v2", "unfold", "unsqueeze", "unsqueeze2",
    "unstack",
});
// Of operands that are all multiplied.
constexpr std::array kOfTerms = std::to_array<absl::string_view>({
    "Add", "Concat", "Max", "Mean", "Min", "Sub", "Sum", "Where", "concat", "elementwise_add", "elementwise_max", "elementwise_min",
    "elementwise_sub", "stack", "sum", "where",
});
// clang-format on

template <size_t n>
bool Among(const std::array<absl::string_view, n>& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsLinear(const Op& op) {
  const WeightUse use = op.def().weight_use;
  if (use != WeightUse::kConv && use != WeightUse::kConvTransposed && use != WeightUse::kProduct) return false;
  const bool fused = !op.GetString("activation").empty() || !op.GetString("fuse_activation").empty() || op.GetBool("fuse_relu") ||
                     op.GetBool("fuse_brelu");
  return !fused && op.inputs().size() >= 2 && op.inputs().size() <= 3;
}

bool HasValues(const Var& var) {
  return (IsStored(var) || var.kind == VarKind::kState) && var.type.dtype == DType::kF32 && StoredElements(var) > 0;
}

bool IsZero(const Var& var) {
  const std::vector<float> values = OriginalFloats(var);
  return !values.empty() && std::all_of(values.begin(), values.end(), [](float value) { return value == 0; });
}

bool PadsWithOther(const Op& op) { return op.GetFloat("value") != 0 || op.GetFloat("pad_value") != 0; }

}  // namespace

bool ReadsAsWeight(const Op& op, const Var& var) {
  return IsLinear(op) && (op.inputs()[0] == &var) != (op.inputs()[1] == &var) && (op.inputs().size() < 3 || op.inputs()[2] != &var);
}

bool ScaledRegion::Stop(const Op& op) {
  why_ = absl::StrCat("what it makes is read by ", Describe(op), ", with which a factor does not commute");
  return false;
}

// Has the readers of a value visited.
bool ScaledRegion::Follow(const Var& var) {
  if (uses_.fetched(var)) {
    why_ = absl::StrCat("it leads to the fetch '", var.name(), "'");
    return false;
  }
  for (const Use& use : uses_.uses(var)) {
    if (use.op->block().index() != 0) return Stop(*use.op);
    ahead_.emplace(position_[use.op->id()], use.op);
  }
  return true;
}

// The float results are multiplied.
bool ScaledRegion::Joins(const Op& op) {
  for (const Var* var : op.outputs()) {
    if (!var->type.IsFloat()) continue;
    if (var->kind != VarKind::kTemp || var->type.dtype != DType::kF32) return Stop(op);
    scaled_.insert(var->id());
    if (!Follow(*var)) return false;
  }
  return true;
}

// The stored operand has to be multiplied.
bool ScaledRegion::Need(const Op& op, int flat, int sign, bool term) {
  Var& var = *op.inputs()[flat];
  if (!HasValues(var) || var.block().index() != 0) return Stop(op);
  const int writers = uses_.num_writers(var);
  if (writers > 1 || (writers == 1 && uses_.producer(var) != &op)) return Stop(op);
  const auto [it, added] = index_.emplace(var.id(), values_.size());
  if (added) values_.push_back({&var, sign});
  ScaledValue& value = values_[it->second];
  if (value.sign != sign) return Stop(op);
  value.term = value.term && term;
  value.low = value.low || op.def().inputs[op.InputSlotOf(flat)].precision == SlotPrecision::kFollow;
  ++value.operands;
  return true;
}

bool ScaledRegion::VisitLinear(const Op& op) {
  const Var& weight = *values_[0].var;
  const bool first = Has(*op.inputs()[0]) || op.inputs()[0] == &weight;
  const bool second = Has(*op.inputs()[1]) || op.inputs()[1] == &weight;
  if (first == second) return Stop(op);
  const int other = first ? 1 : 0;
  const bool starts = op.inputs()[1 - other] == &weight;
  if (starts && !Need(op, 1 - other, 1, false)) return false;
  const Var* term = op.inputs().size() == 3 ? op.inputs()[2] : nullptr;
  if (!starts && HasValues(*op.inputs()[other])) {  // the result is what it was, and so has to be what is added
    return term != nullptr && Has(*term) ? Stop(op) : Need(op, other, -1, false);
  }
  if (term != nullptr && !Has(*term) && !IsZero(*term) && !Need(op, 2, 1, true)) return false;
  return Joins(op);
}

bool ScaledRegion::VisitBatchNorm(const Op& op) {
  const bool fixed = onnx::DefOf(op.def()) != nullptr ? op.GetInt("training_mode", 0) == 0 && op.GetInt("is_test", 1) != 0
                                                      : op.GetBool("is_test") || op.GetBool("use_global_stats");
  if (!fixed || op.inputs().size() != 5 || op.outputs().empty() || !Has(*op.inputs()[0])) return Stop(op);
  for (int i = 1; i < 5; ++i) {
    if (Has(*op.inputs()[i])) return Stop(op);
  }
  for (size_t i = 1; i < op.outputs().size(); ++i) {
    const Var& var = *op.outputs()[i];
    if (var.kind == VarKind::kTemp && (!uses_.uses(var).empty() || uses_.fetched(var))) return Stop(op);
  }
  return Need(op, 1, -1, false) && Need(op, 3, 1, true);
}

// Products and quotients, element by element.
bool ScaledRegion::VisitQuotient(const Op& op, bool product) {
  if (op.inputs().size() != 2 || Has(*op.inputs()[0]) == Has(*op.inputs()[1])) return Stop(op);
  const int other = Has(*op.inputs()[0]) ? 1 : 0;
  if (!product && other == 0) return Stop(op);
  if (HasValues(*op.inputs()[other])) return Need(op, other, product ? -1 : 1, false);
  return Joins(op);
}

bool ScaledRegion::VisitTerms(const Op& op) {
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    const Var& var = *op.inputs()[i];
    if (!var.type.IsFloat() || Has(var)) continue;
    if (HasValues(var) && IsZero(var)) continue;
    if (!Need(op, i, 1, true)) return false;
  }
  return Joins(op);
}

bool ScaledRegion::Visit(const Op& op) {
  if (op.def().opaque || !op.SubBlocks().empty()) return Stop(op);
  if (IsLinear(op)) return VisitLinear(op);
  const absl::string_view name = onnx::TypeName(op.def());
  if (name == "batch_norm" || name == "BatchNormalization") return VisitBatchNorm(op);
  if (name == "elementwise_mul" || name == "Mul") return VisitQuotient(op, true);
  if (name == "elementwise_div" || name == "Div") return VisitQuotient(op, false);
  if (Among(kOfTerms, name)) return VisitTerms(op);
  if (!Among(kHomogeneous, name) || PadsWithOther(op)) return Stop(op);
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    const Var& var = *op.inputs()[i];
    const bool follows = op.def().inputs[op.InputSlotOf(i)].precision == SlotPrecision::kFollow;
    if (var.type.IsFloat() && follows && !Has(var) && !(HasValues(var) && IsZero(var))) return Stop(op);
  }
  return Joins(op);
}

bool ScaledRegion::Grow(Var& weight) {
  values_ = {{&weight, 1, false, true}};
  index_.emplace(weight.id(), 0);
  if (!HasValues(weight) || weight.block().index() != 0 || uses_.num_writers(weight) > 0 || !Follow(weight)) return false;
  while (!ahead_.empty()) {
    const Op& op = *ahead_.begin()->second;
    ahead_.erase(ahead_.begin());
    if (!Visit(op)) return false;
  }
  for (const ScaledValue& value : values_) {
    if (static_cast<int>(uses_.uses(*value.var).size()) == value.operands && !uses_.fetched(*value.var)) continue;
    why_ = absl::StrCat("'", value.var->name(), "', which would have to be scaled with it, is read elsewhere");
    return false;
  }
  return true;
}

}  // namespace ampc
