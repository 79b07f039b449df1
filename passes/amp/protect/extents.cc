// Parts of one tensor. Areas: the width of a box times its height leaves the range where neither of them does. Differences of feeds: what
// is large in both is gone in the result, and the rounding of it is not.
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "graph/op_record.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect/stored_losses.h"
#include "passes/amp/protect/thresholds.h"
#include "passes/amp/protect/visit.h"

namespace ampc {
namespace {

// -1: of none, or of several.
int OriginOfResult(const Visit& v) {
  const bool keeps = AmpClassOf(v.op) == AmpClass::kClear || v.Is(OpTrait::kArithmetic) || v.Is(OpTrait::kSelection) ||
                     v.Is(OpTrait::kRectifier) || v.Is(OpTrait::kExp) || IsCast(v.op);
  if (!keeps) return -1;
  int origin = -1;
  for (const Var* var : v.op.inputs()) {
    if (!var->type.IsFloat() || v.facts.IsFixed(*var)) continue;
    const int own = v.facts.OriginOf(*var);
    if (origin >= 0 && own != origin) return -1;
    origin = own;
  }
  return origin;
}

bool CentresFarFeed(const Visit& v) {
  constexpr int kMean = 3, kVariance = 4;
  if (!v.Has(v.In(0), Fact::kFed)) return false;
  const ValueFlow& flow = v.facts.flow();
  const std::vector<float> mean = OriginalFloats(flow.Root(*v.op.input(kMean)));
  const std::vector<float> variance = OriginalFloats(flow.Root(*v.op.input(kVariance)));
  const double epsilon = v.op.GetFloat("epsilon");
  for (size_t c = 0; c < std::min(mean.size(), variance.size()); ++c) {
    if (std::fabs(mean[c]) >= kFarFromZero * std::sqrt(variance[c] + epsilon)) return true;
  }
  return false;
}

// Weights of one channel each that are a mean: a blur.
bool IsBlur(const Visit& v) {
  if (v.op.inputs().size() < 2 || v.op.inputs()[1]->type.rank() < 3 || v.op.inputs()[1]->type.dims[1] != 1) return false;
  const std::vector<float> weights = OriginalFloats(v.In(1));
  const int64_t filters = v.op.inputs()[1]->type.dims[0];
  if (filters <= 0 || weights.empty() || weights.size() % static_cast<size_t>(filters) != 0) return false;
  const size_t size = weights.size() / static_cast<size_t>(filters);
  for (size_t first = 0; first < weights.size(); first += size) {
    double sum = 0;
    for (size_t i = first; i < first + size; ++i) {
      if (!(weights[i] >= 0)) return false;
      sum += weights[i];
    }
    if (!(std::fabs(sum - 1) <= kNearlyOne)) return false;
  }
  return true;
}

// A feed's mean or largest value, nearby or in all, is as large as the feed, and so is the feed in another size.
bool KeepsSize(const Visit& v) {
  // Earlier releases of Paddle resize by ops that have no record.
  if (v.Is(OpTrait::kResample) || (v.op.def().opaque && absl::EndsWith(v.op.type(), "_interp"))) return true;
  const absl::string_view name = onnx::NativeName(v.op.def());
  return (name == "depthwise_conv2d" || name == "conv2d") && IsBlur(v);
}

// The number that scale * x + bias adds to x, before the factor; 0 for other ops.
double OffsetOf(const Op& op) {
  const double factor = std::fabs(op.GetFloat("scale", 1)), bias = std::fabs(op.GetFloat("bias"));
  if (!op.HasTrait(OpTrait::kAffine) || factor == 0) return 0;
  return op.GetBool("bias_after_scale", true) ? bias / factor : bias;
}

// Does the op take much of a feed away?
bool CancelsFeed(Visit& v) {
  const Op& op = v.op;
  if (onnx::NativeName(op.def()) == "batch_norm") return CentresFarFeed(v);
  if (KeepsSize(v)) {
    v.Give(Fact::kFed);
    for (int i = 0; i < v.num_results(); ++i) v.result(i).origin = v.facts.OriginOf(v.In(0));
    return false;
  }
  if (OriginOfResult(v) < 0) return false;
  const bool scales = v.Is(OpTrait::kProduct) || v.Is(OpTrait::kDivision) || v.Is(OpTrait::kAffine);
  bool alone = true, large = false;  // large: there is a large offset, or two pieces
  int pieces = 0;
  for (const Var* var : op.inputs()) {
    if (!var->type.IsFloat()) continue;
    const bool fixed = v.facts.IsFixed(*var);
    alone = alone && (fixed || v.Has(*var, Fact::kFed));
    pieces += fixed ? 0 : 1;
    large = large || pieces > 1 || (fixed && v.facts.FactorOf(*var) >= kSmallOffset);
  }
  if (!alone) return false;
  const bool sum = v.Is(OpTrait::kAdditive) && !v.Is(OpTrait::kSelection) && op.inputs().size() == 2;
  if (AmpClassOf(op) == AmpClass::kClear || (pieces == 1 && (scales || sum))) v.Give(Fact::kFed);
  return (sum && large) || OffsetOf(op) >= kSmallOffset;
}

}  // namespace

// Extents: differences of pieces of one tensor (x2 - x1 of boxes), and exponentials, by which detectors scale their anchors. Functions of a
// network are neither: a gate times a value, both pieces of one tensor, is no area.
Effect AreaRule(Visit& v) {
  const Op& op = v.op;
  if (!v.HasFloatResult()) return Effect::kNone;
  const bool pair = op.inputs().size() == 2;
  const bool product = pair && v.Is(OpTrait::kProduct) && v.Has(*op.inputs()[0], Fact::kExtent) && v.Has(*op.inputs()[1], Fact::kExtent);
  int origin = OriginOfResult(v);
  if (product && origin >= 0) {
    if (v.facts.low() != DType::kF16 || v.ResultInRange()) return Effect::kNone;
    v.Mark();
    v.Give(Fact::kSummed);
    return Effect::kStarts;
  }
  if (product) origin = v.facts.OriginOf(*op.inputs()[0]);  // the factors of an anchor, its size
  if (origin < 0) return Effect::kNone;
  const bool computed = pair && !v.facts.IsFixed(*op.inputs()[0]) && !v.facts.IsFixed(*op.inputs()[1]);
  const bool difference = computed && onnx::NativeName(op.def()) == "elementwise_sub";
  for (int i = 0; i < v.num_results(); ++i) v.result(i).origin = origin;
  if (difference || v.Is(OpTrait::kExp) || v.Reads(Fact::kExtent)) v.Give(Fact::kExtent);
  return Effect::kNone;
}

Effect DifferenceRule(Visit& v) {
  if (!v.Reads(Fact::kFed) || !v.HasFloatResult() || !CancelsFeed(v)) return Effect::kNone;
  std::vector<const Op*> todo = {&v.op};
  for (int ops = 0; ops < kMostOffsets && !todo.empty(); ++ops) {
    const Op* next = todo.back();
    todo.pop_back();
    v.MarkOther(*next);
    for (const Var* var : next->inputs()) {
      const Op* before = v.Has(*var, Fact::kFed) ? v.facts.flow().Maker(*var) : nullptr;
      if (before != nullptr) todo.push_back(before);
    }
  }
  return Effect::kStarts;
}

}  // namespace ampc
