#include "passes/amp/protect/error_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect/stored_losses.h"
#include "passes/amp/protect/weighted_bounds.h"

namespace ampc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Functions and sums in fp32 are as exact as that, in both programs.
constexpr double kFloatError = 0x1p-20, kFloatSum = 0x1p-22;

// Ops whose result changes at most as much as the operand that changes most: what moves, selects or averages elements.
// Others, of one operand: at most that many times as much, everywhere.
const absl::flat_hash_map<absl::string_view, double>& Slopes() {
  static const auto* const slopes = new absl::flat_hash_map<absl::string_view, double>{
      {"reshape", 1},    {"reshape2", 1},     {"transpose", 1},     {"transpose2", 1},
      {"squeeze", 1},    {"squeeze2", 1},     {"unsqueeze", 1},     {"unsqueeze2", 1},
      {"flatten", 1},    {"flatten2", 1},     {"slice", 1},         {"flatten_contiguous_range", 1},
      {"split", 1},      {"unstack", 1},      {"stack", 1},         {"strided_slice", 1},
      {"concat", 1},     {"gather", 1},       {"gather_nd", 1},     {"index_select", 1},
      {"expand_v2", 1},  {"expand_as_v2", 1}, {"tile", 1},          {"take_along_axis", 1},
      {"assign", 1},     {"where", 1},        {"roll", 1},          {"flip", 1},
      {"reduce_max", 1}, {"reduce_min", 1},   {"reduce_mean", 1},   {"mean", 1},
      {"pool2d", 1},     {"pool3d", 1},       {"pixel_shuffle", 1}, {"elementwise_max", 1},
      {"relu", 1},       {"relu6", 1},        {"abs", 1},           {"elementwise_min", 1},
      {"clip", 1},       {"tanh", 1},         {"sin", 1},           {"cos", 1},
      {"sigmoid", 0.25}, {"gelu", 1.13},      {"silu", 1.1},        {"erf", 1.13},
      {"softmax", 0.5},
  };
  return *slopes;
}

// Of |f(x) - f(y)| beside `error`, |x - y|, where both lie in `x`; nullopt for other ops.
std::optional<double> OfSteep(absl::string_view name, const Bounds& x, double error) {
  const double least = std::max(x.low, -x.high);  // magnitude, where zero is not inside
  const auto over = [&](double divisor) { return divisor > 0 ? error / divisor : kInfinity; };
  if (name == "square") return 2 * x.Magnitude() * error;
  if (name == "exp") return std::exp(x.high) * error;
  if (name == "sqrt") return x.low < 0 ? kInfinity : std::min(std::sqrt(error), over(2 * std::sqrt(x.low)));
  if (name == "log") return x.low > 0 ? over(x.low) : kInfinity;
  if (name == "reciprocal") return least > 0 ? over(least * least) : kInfinity;
  if (name == "rsqrt") return x.low > 0 ? over(2 * x.low * std::sqrt(x.low)) : kInfinity;
  return std::nullopt;
}

// Of how many elements of the operand each of the result is made; infinite where types do not say.
double ElementsEach(const Op& op) {
  const TensorType &x = op.inputs()[0]->type, &y = op.outputs()[0]->type;
  if (!x.IsStatic() || !y.IsStatic() || y.NumElements() == 0) return kInfinity;
  return static_cast<double>(x.NumElements()) / static_cast<double>(y.NumElements());
}

}  // namespace

ErrorBounds::ErrorBounds(const Facts& facts)
    : facts_(facts),
      unit_(facts.low() == DType::kF16 ? 0x1p-11 : 0x1p-8),
      least_(facts.low() == DType::kF16 ? 0x1p-25 : 0x1p-134),
      least_weight_(facts.on_tiny() == OnTiny::kFlush ? facts.smallest() : 2 * least_),
      errors_(facts.flow().program().num_var_ids(), kInfinity) {
  const ValueFlow& flow = facts.flow();
  ForEachVar(flow.program(), [&](const Var& var) {
    if (var.kind == VarKind::kTemp || var.kind == VarKind::kCarry || !flow.Makers(var).empty()) return;
    const bool stored = IsStored(var) && StoredElements(var) > 0;
    const double reach = stored ? sums_.Hull(var).Magnitude() : Reach(var);
    errors_[var.id()] = !var.type.IsFloat()            ? 0
                        : !(reach <= facts_.largest()) ? kInfinity
                        : stored                       ? WeightRounding(reach)
                                                       : Rounding(reach);
  });
  for (const Op* op : flow.ops()) {
    double error = -1;
    for (const Var* result : op->outputs()) {
      const Var& var = flow.Root(*result);
      if (var.kind != VarKind::kTemp || flow.IsJoined(var)) continue;
      if (error < 0) error = Propagated(*op);
      const double reach = Reach(var);
      double all = error + Rounding(reach) + kFloatError * reach;
      if (!var.type.IsFloat()) all = Largest(*op) == 0 ? 0 : kInfinity;
      errors_[var.id()] = var.type.IsFloat() && !facts_.InRange(facts_.Of(var).bounds) ? kInfinity : all;
    }
  }
}

double ErrorBounds::Largest(const Op& op) const {
  double largest = 0;
  for (const Var* var : op.inputs()) largest = std::max(largest, Of(*var));
  return largest;
}

double ErrorBounds::OfProduct(const Op& op) {
  double error = 0;
  if (const std::optional<WeightRows> rows = WeightRowsOf(op, facts_.flow())) {
    const RowSums* sums = sums_.Rows(*rows->weight, rows->layout);
    if (sums == nullptr) return kInfinity;
    double largest = 0;
    for (size_t r = 0; r < sums->positive.size(); ++r) largest = std::max(largest, sums->positive[r] - sums->negative[r]);
    const double terms = static_cast<double>(rows->weight->type.NumElements()) / static_cast<double>(rows->layout.rows);
    const double x = Reach(*rows->x);
    error = largest * Of(*rows->x) + x * (unit_ * largest + least_weight_ * terms) + terms * kFloatSum * x * largest;
    error *= std::fabs(rows->factor);
  } else {
    const Var &x = facts_.In(op, 0), &y = facts_.In(op, 1);
    const int dim = x.type.rank() - (TransposesX(op) ? 2 : 1);
    if (op.def().weight_use != WeightUse::kProduct || op.type() == "mul" || dim < 0 || !IsKnown(x.type.dims[dim])) return kInfinity;
    const auto terms = static_cast<double>(x.type.dims[dim]);
    error = terms * (Reach(x) * Of(y) + Reach(y) * Of(x)) + terms * terms * kFloatSum * Reach(x) * Reach(y);
    if (op.attr("alpha") != nullptr) error *= std::fabs(op.GetFloat("alpha"));
  }
  if (op.inputs().size() < 3) return error;
  return error + Of(*op.inputs()[2]) * (op.attr("beta") != nullptr ? std::fabs(op.GetFloat("beta")) : 1);
}

double ErrorBounds::Propagated(const Op& op) {
  const double largest = Largest(op);
  if (!std::isfinite(largest) || op.inputs().empty() || op.def().opaque || !op.SubBlocks().empty()) return kInfinity;
  const auto finite = [this](const Var* var) {
    return !var->type.IsFloat() || IsStored(facts_.flow().Root(*var)) || facts_.InRange(facts_.Of(*var).bounds);
  };
  if (!std::all_of(op.inputs().begin(), op.inputs().end(), finite)) return kInfinity;
  if (op.def().weight_use != WeightUse::kNone) return op.inputs().size() < 2 ? kInfinity : OfProduct(op);
  const absl::string_view name = onnx::NativeName(op.def());
  if (IsCast(op)) return op.outputs()[0]->type.dtype == DType::kF32 ? largest : kInfinity;
  if (const auto slope = Slopes().find(name); slope != Slopes().end()) return slope->second * largest;
  const auto error = [&](int i) { return Of(*op.inputs()[i]); };
  const auto reach = [&](int i) { return Reach(*op.inputs()[i]); };
  if (op.inputs().size() == 2) {
    if (name == "elementwise_add" || name == "elementwise_sub") return error(0) + error(1);
    if (name == "elementwise_mul") return reach(0) * error(1) + reach(1) * error(0);
    if (name == "elementwise_div") {
      const Bounds& y = facts_.Of(*op.inputs()[1]).bounds;
      const double least = std::max(y.low, -y.high);
      return least > 0 ? (error(0) + Reach(*op.outputs()[0]) * error(1)) / least : kInfinity;
    }
  }
  if (op.inputs().size() > 1 && name != "reduce_sum") return kInfinity;
  if (name == "scale") {
    const double factor = std::fabs(op.GetFloat("scale"));
    return factor * error(0) + std::max(1.0, factor) * Rounding(std::fabs(op.GetFloat("bias")));
  }
  if (name == "hard_swish") {
    const bool usual = op.GetFloat("threshold", 6) == 6 && op.GetFloat("scale", 6) == 6 && op.GetFloat("offset", 3) == 3;
    return usual ? 1.5 * error(0) : kInfinity;
  }
  if (name == "softplus") return op.GetFloat("threshold", 20) >= 20 && op.GetFloat("beta", 1) == 1 ? error(0) : kInfinity;
  if (name == "leaky_relu") return std::max(1.0, std::fabs(op.GetFloat("alpha"))) * error(0);
  if (name == "reduce_sum") {
    const double each = ElementsEach(op);
    return each * error(0) + each * each * kFloatSum * reach(0);
  }
  return OfSteep(name, facts_.Of(*op.inputs()[0]).bounds, error(0)).value_or(kInfinity);
}

std::string ErrorText(const ErrorBounds& errors, const Var& var) {
  const double error = 1.05 * errors.Of(var);  // two digits are as much less at most
  return std::isfinite(error) && var.type.IsFloat() ? absl::StrFormat("within %.2g of fp32", error) : "";
}

}  // namespace ampc
