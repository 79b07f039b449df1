// Areas: the width of a box times its height leaves the range where neither of them does. Differences of feeds: what is large in both is gone in
// the result, and the rounding of it is not.
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect_util.h"
#include "passes/amp/protector.h"
#include "passes/amp/stored_losses.h"
#include "passes/analysis/op_kinds.h"

namespace ampc {
namespace {

// What is taken from feeds of ordinary size, as images between 0 and 1 are, leaves what is about as large.
constexpr double kSmallOffset = 4;
// Means of feeds that many deviations from zero: what a low type rounds away is not small beside the deviation.
constexpr double kFarFromZero = 4;
// Ops from feeds to their difference.
constexpr int kMostOffsets = 16;

}  // namespace

int Protector::OriginOf(const Var& var) const {
  const int id = roots_.Root(var).id();
  return origins_[id] >= 0 ? origins_[id] : id;
}

int Protector::OriginOfResult(const Op& op) const {
  const bool keeps = ClassOf(op) == AmpClass::kClear || Is(op, OpKind::kArithmetic) || Is(op, OpKind::kSelection) || Is(op, OpKind::kRectifier) ||
                     Is(op, OpKind::kExp) || IsCast(op);
  if (!keeps) return -1;
  int origin = -1;
  for (const Var* var : op.inputs()) {
    if (!var->type.IsFloat() || IsFixed(*var)) continue;
    if (origin >= 0 && OriginOf(*var) != origin) return -1;
    origin = OriginOf(*var);
  }
  return origin;
}

// Extents: differences of pieces of one tensor (x2 - x1 of boxes), and exponentials, by which detectors scale their anchors. Functions of a network
// are neither: a gate times a value, both pieces of one tensor, is no area.
void Protector::FollowAreas(const Op& op) {
  if (op.outputs().empty() || !op.outputs()[0]->type.IsFloat()) return;
  const bool pair = op.inputs().size() == 2;
  const bool product = pair && Is(op, OpKind::kProduct) && Has(*op.inputs()[0], kExtent) && Has(*op.inputs()[1], kExtent);
  int origin = OriginOfResult(op);
  if (product && origin >= 0) {
    if (low_ != DType::kF16 || InRange(*op.outputs()[0])) return;
    Because(op, "protect.area: a width times a height, which may be beyond the range where they are not");
    Set(op, kSummed);
    return;
  }
  if (product) origin = OriginOf(*op.inputs()[0]);  // the factors of an anchor, its size
  if (origin < 0) return;
  const bool difference = pair && onnx::NativeName(op.def()) == "elementwise_sub" && !IsFixed(*op.inputs()[0]) && !IsFixed(*op.inputs()[1]);
  const bool extent = difference || Is(op, OpKind::kExp) || Reads(op, kExtent);
  for (const Var* out : op.outputs()) origins_[out->id()] = origin;
  if (extent) Set(op, kExtent);
}

bool Protector::CentresFarFeed(const Op& op) const {
  constexpr int kMean = 3, kVariance = 4;
  if (!Has(In(op, 0), kFed)) return false;
  const std::vector<float> mean = OriginalFloats(roots_.Root(*op.input(kMean)));
  const std::vector<float> variance = OriginalFloats(roots_.Root(*op.input(kVariance)));
  const double epsilon = op.GetFloat("epsilon");
  for (size_t c = 0; c < std::min(mean.size(), variance.size()); ++c) {
    if (std::fabs(mean[c]) >= kFarFromZero * std::sqrt(variance[c] + epsilon)) return true;
  }
  return false;
}

bool Protector::FollowFeed(const Op& op) {
  const absl::string_view name = onnx::NativeName(op.def());
  if (name == "batch_norm") return CentresFarFeed(op);
  if (name == "pool2d" || name == "pool3d") {  // a feed's mean or largest value nearby is as large as the feed
    Set(op, kFed);
    for (const Var* out : op.outputs()) origins_[out->id()] = OriginOf(In(op, 0));
    return false;
  }
  if (OriginOfResult(op) < 0) return false;
  const bool scales = Is(op, OpKind::kProduct) || Is(op, OpKind::kDivision);
  bool alone = true, large = false;  // large: there is a large offset, or two pieces
  int pieces = 0;
  for (const Var* var : op.inputs()) {
    if (!var->type.IsFloat()) continue;
    const bool fixed = IsFixed(*var);
    alone = alone && (fixed || Has(*var, kFed));
    pieces += fixed ? 0 : 1;
    large = large || pieces > 1 || (fixed && FactorOf(*var) >= kSmallOffset);
  }
  if (!alone) return false;
  const bool sum = Is(op, OpKind::kAdditive) && !Is(op, OpKind::kSelection) && op.inputs().size() == 2;
  if (ClassOf(op) == AmpClass::kClear || (pieces == 1 && (scales || sum))) Set(op, kFed);
  return sum && large;
}

void Protector::FollowFeeds(const Op& op) {
  if (!Reads(op, kFed) || op.outputs().empty() || !op.outputs()[0]->type.IsFloat() || !FollowFeed(op)) return;
  std::vector<const Op*> todo = {&op};
  for (int ops = 0; ops < kMostOffsets && !todo.empty(); ++ops) {
    const Op* next = todo.back();
    todo.pop_back();
    Because(*next, "protect.difference: what is left of a feed may be much smaller than what it takes away");
    for (const Var* var : next->inputs()) {
      const Op* before = Has(*var, kFed) ? definers_[roots_.Root(*var).id()] : nullptr;
      if (before != nullptr) todo.push_back(before);
    }
  }
}

}  // namespace ampc
