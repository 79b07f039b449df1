#include "passes/amp/protect/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/protect/stored_losses.h"

namespace ampc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double Product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Bounds Times(const Bounds& a, const Bounds& b) {
  const auto [low, high] = std::minmax({Product(a.low, b.low), Product(a.low, b.high), Product(a.high, b.low), Product(a.high, b.high)});
  return {low, high};
}

Bounds Inverse(const Bounds& a) { return a.low > 0 || a.high < 0 ? Bounds{1 / a.high, 1 / a.low} : Bounds(); }

Bounds Square(const Bounds& a) {
  const double least = a.low <= 0 && a.high >= 0 ? 0 : std::min(std::fabs(a.low), std::fabs(a.high));
  return {least * least, a.Magnitude() * a.Magnitude()};
}

using Operands = absl::InlinedVector<Bounds, 4>;
using Rule = BoundsRule;

Bounds Moves(const Op&, const Operands& in) {
  Bounds all = in[0];
  for (const Bounds& b : in) all = Union(all, b);
  return all;
}
Bounds Pads(const Op& op, const Operands& in) {
  const double filler = op.GetFloat("pad_value") + op.GetFloat("value");  // an op has one of them, or an operand
  return Union(Moves(op, in), {filler, filler});
}
Bounds ToOne(const Op&, const Operands&) { return {0, 1}; }
Bounds AroundOne(const Op&, const Operands&) { return {-1, 1}; }
Bounds ToSix(const Op&, const Operands&) { return {0, 6}; }
Bounds NotPositive(const Op&, const Operands&) { return {-kInfinity, 0}; }
Bounds Exponential(const Op&, const Operands& in) { return {std::exp(in[0].low), std::exp(in[0].high)}; }
Bounds Rectifies(const Op&, const Operands& in) { return {std::max(0.0, in[0].low), std::max(0.0, in[0].high)}; }
Bounds Magnitudes(const Op&, const Operands& in) {
  return {in[0].low > 0 ? in[0].low : in[0].high < 0 ? -in[0].high : 0, in[0].Magnitude()};
}
Bounds Negates(const Op&, const Operands& in) { return {-in[0].high, -in[0].low}; }
Bounds Adds(const Op&, const Operands& in) {
  Bounds sum = in[0];
  for (size_t i = 1; i < in.size(); ++i) sum = {sum.low + in[i].low, sum.high + in[i].high};
  return sum;
}
Bounds Subtracts(const Op&, const Operands& in) {
  return in.size() == 2 ? Bounds{in[0].low - in[1].high, in[0].high - in[1].low} : Bounds();
}
Bounds Multiplies(const Op& op, const Operands& in) {
  if (in.size() != 2) return {};
  return op.inputs()[0] == op.inputs()[1] ? Square(in[0]) : Times(in[0], in[1]);
}
Bounds Divides(const Op&, const Operands& in) { return in.size() == 2 ? Times(in[0], Inverse(in[1])) : Bounds(); }
Bounds Squares(const Op&, const Operands& in) { return Square(in[0]); }
Bounds Roots(const Op&, const Operands& in) { return {std::sqrt(std::max(0.0, in[0].low)), std::sqrt(std::max(0.0, in[0].high))}; }
Bounds Largest(const Op&, const Operands& in) {
  Bounds out = in[0];
  for (const Bounds& b : in) out = {std::max(out.low, b.low), std::max(out.high, b.high)};
  return out;
}
Bounds Least(const Op&, const Operands& in) {
  Bounds out = in[0];
  for (const Bounds& b : in) out = {std::min(out.low, b.low), std::min(out.high, b.high)};
  return out;
}
// The bounds are attributes, or operands behind the value. The largest float is none: it stands where a bound is left out.
Bounds Clips(const Op& op, const Operands& in) {
  double low = -kInfinity, high = kInfinity;
  if (op.attr("min") != nullptr) low = op.GetFloat("min");
  if (op.attr("max") != nullptr) high = op.GetFloat("max");
  size_t next = 1;
  for (const auto& [slot, upper_slot, is_low] : {std::tuple("min", "Min", true), std::tuple("max", "Max", false)}) {
    if ((op.input(slot) == nullptr && op.input(upper_slot) == nullptr) || next >= in.size()) continue;
    const Bounds& bound = in[next++];
    (is_low ? low : high) = is_low ? bound.low : bound.high;
  }
  if (low <= -std::numeric_limits<float>::max()) low = -kInfinity;
  if (high >= std::numeric_limits<float>::max()) high = kInfinity;
  return {std::clamp(in[0].low, low, std::max(low, high)), std::clamp(in[0].high, low, std::max(low, high))};
}
Bounds Sums(const Op& op, const Operands& in) {
  const int64_t before = op.inputs()[0]->type.NumElements(), after = op.outputs()[0]->type.NumElements();
  const bool same_sign = in[0].low >= 0 || in[0].high <= 0;
  if (before <= 0 || after <= 0)
    return same_sign ? Bounds{in[0].low >= 0 ? in[0].low : -kInfinity, in[0].high <= 0 ? in[0].high : kInfinity} : Bounds();
  const double count = static_cast<double>(before) / static_cast<double>(after);
  return {Product(in[0].low, count), Product(in[0].high, count)};
}
Bounds Casts(const Op& op, const Operands& in) {
  switch (op.inputs()[0]->type.dtype) {
    case DType::kBool:
      return {0, 1};
    case DType::kU8:
      return {0, 255};
    case DType::kI8:
      return {-128, 127};
    case DType::kI16:
      return {-32768, 32767};
    case DType::kU16:
      return {0, 65535};
    case DType::kU4:
      return {0, 15};
    case DType::kI4:
      return {-8, 7};
    case DType::kU2:
      return {0, 3};
    case DType::kI2:
      return {-2, 1};
    case DType::kF4E2M1:
      return {-6, 6};
    default:
      break;
  }
  return op.outputs()[0]->type.IsFloat() ? in[0] : Bounds{std::trunc(in[0].low), std::trunc(in[0].high)};
}

struct Row {
  Rule rule;
  absl::string_view ops;  // native names, and ONNX types that have none
};

constexpr Row kRows[] = {
    {Moves,
     "assign reshape reshape2 squeeze squeeze2 unsqueeze unsqueeze2 flatten flatten2 flatten_contiguous_range transpose transpose2 tile "
     "expand "
     "expand_v2 stack unstack concat split slice strided_slice gather gather_nd index_select take_along_axis where flip roll reduce_max "
     "reduce_min "
     "reduce_mean mean pixel_shuffle Identity Reshape Squeeze Unsqueeze Flatten Transpose Tile Expand Concat Split Slice Gather GatherND "
     "GatherElements Where ReduceMax ReduceMin ReduceMean MaxPool GlobalMaxPool GlobalAveragePool DepthToSpace SpaceToDepth"},
    {Pads, "pad pad2d pad3d Pad pool2d AveragePool"},
    {ToOne, "sigmoid hard_sigmoid softmax Sigmoid HardSigmoid Softmax Hardmax OneHot"},
    {AroundOne, "tanh erf sin cos softsign sign Tanh Erf Sin Cos Softsign Sign"},
    {ToSix, "relu6"},
    {NotPositive, "log_softmax LogSoftmax"},
    {Exponential, "exp Exp"},
    {Rectifies, "relu Relu"},
    {Magnitudes, "abs Abs"},
    {Negates, "Neg"},
    {Adds, "elementwise_add sum Add Sum"},
    {Subtracts, "elementwise_sub Sub"},
    {Multiplies, "elementwise_mul Mul"},
    {Divides, "elementwise_div Div"},
    {Squares, "square"},
    {Roots, "sqrt Sqrt"},
    {Largest, "elementwise_max Max"},
    {Least, "elementwise_min Min"},
    {Clips, "clip Clip"},
    {Sums, "reduce_sum ReduceSum"},
    {Casts, "cast"},
};

Rule RuleOf(absl::string_view name) {
  static const auto* const kRules = [] {
    auto* rules = new absl::flat_hash_map<absl::string_view, Rule>();
    for (const Row& row : kRows) {
      for (absl::string_view op : absl::StrSplit(row.ops, ' ')) rules->emplace(op, row.rule);
    }
    return rules;
  }();
  const auto it = kRules->find(name);
  return it == kRules->end() ? nullptr : it->second;
}

bool Computes(const Op& op, int flat) {
  const DType dtype = op.inputs()[flat]->type.dtype;
  if (IsFloat(dtype)) return op.def().inputs[op.InputSlotOf(flat)].precision == SlotPrecision::kFollow || IsCast(op);
  return IsCast(op);
}

template <typename Values>
Bounds BoundsOfAll(const Values& values) {
  if (values.empty()) return {};
  Bounds all{kInfinity, -kInfinity};
  for (const auto v : values) {
    const double x = static_cast<double>(v);
    if (std::isnan(x)) return {};
    all = Union(all, {x, x});
  }
  return all;
}

}  // namespace

double Bounds::Magnitude() const { return std::max(std::fabs(low), std::fabs(high)); }

Bounds Union(const Bounds& a, const Bounds& b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

// ONNX's own type first: a native op that is nearly the same may differ in what it does.
BoundsRule BoundsRuleOf(const OpDef& def) {
  if (const Rule rule = RuleOf(onnx::TypeName(def))) return rule;
  return RuleOf(onnx::NativeName(def));
}

Bounds BoundsOfResults(BoundsRule rule, const Op& op, absl::FunctionRef<const Bounds&(const Var&)> of) {
  if (rule == nullptr || op.outputs().empty() || !op.SubBlocks().empty()) return {};
  Operands in;
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    if (Computes(op, i)) in.push_back(of(*op.inputs()[i]));
  }
  if (in.empty()) return {};
  const Bounds out = rule(op, in);
  return std::isnan(out.low) || std::isnan(out.high) || out.low > out.high ? Bounds() : out;
}

Bounds BoundsOfStored(const Var& var) {
  if (var.kind != VarKind::kConst || var.literal == nullptr) return {};
  if (var.literal->dtype() == DType::kI32) return BoundsOfAll(var.literal->values<int32_t>());
  if (var.literal->dtype() == DType::kI64) return BoundsOfAll(var.literal->values<int64_t>());
  return BoundsOfAll(OriginalFloats(var));
}

}  // namespace ampc
