// Rules for ops that stay fp32 because of their readers: indexes, scales, logarithms, angles, coordinates and fetched probabilities.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/op_record.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect/thresholds.h"
#include "passes/amp/protect/visit.h"

namespace ampc {
namespace {

bool MayBeIndex(const SlotDef& slot) { return slot.precision == SlotPrecision::kAsIs && absl::StrContains(slot.name, "Ind"); }
bool IsQuantisation(const SlotDef& slot) { return absl::EndsWith(slot.name, "_scale") || absl::EndsWith(slot.name, "_zero_point"); }

bool IsExactOperand(const BackwardVisit& v, const SlotDef& slot, int flat) {
  const bool control = !v.op.SubBlocks().empty();
  const bool condition = control && (slot.name == "Condition" || slot.name == "Cond" || slot.name == "cond");
  return slot.host_value || condition || (MayBeIndex(slot) && IsInteger(v.In(flat).type.dtype));
}

// Backwards as far as products, and what never becomes low.
bool EndsExact(const BackwardVisit& v) {
  const AmpClass amp = AmpClassOf(v.op);
  return amp == AmpClass::kAllow || amp == AmpClass::kDeny || v.op.def().opaque || v.Is(OpTrait::kShapeReader) || !v.op.SubBlocks().empty();
}

// Is it what transforms of signals are made of? All else is a function of a network.
bool IsTransform(const BackwardVisit& v) {
  if (v.Is(OpTrait::kSelection) || v.Is(OpTrait::kRectifier) || v.Is(OpTrait::kExp)) return false;
  const AmpClass amp = AmpClassOf(v.op);
  return v.facts.PropagatesLoss(v.op) || amp == AmpClass::kAllow || amp == AmpClass::kDeny || v.Is(OpTrait::kPower) ||
         v.Is(OpTrait::kRoot) || v.Is(OpTrait::kExtremum);
}

// The one operand that is not stored or made from constants.
const Var* OnlyComputed(const Facts& facts, const Op& op) {
  const Var* only = nullptr;
  for (const Var* var : op.inputs()) {
    const Var& root = facts.flow().Root(*var);
    if (facts.IsFixed(root)) continue;
    if (only != nullptr && only != &root) return nullptr;
    only = &root;
  }
  return only;
}

// x - floor(x), x - n * round(x / n): appends what lies between, x included.
bool IsFraction(const BackwardVisit& v, std::vector<const Var*>* made_from) {
  const Op& op = v.op;
  if (!v.facts.MayRound() || !v.Is(OpTrait::kAdditive) || v.Is(OpTrait::kSelection) || op.inputs().size() != 2 || !HasF32(op.outputs()))
    return false;
  for (int i = 0; i < 2; ++i) {
    made_from->clear();
    const Var* var = &v.In(i);
    bool whole = false;
    for (int moves = 0; moves < kMostMoves && var != nullptr; ++moves) {
      made_from->push_back(var);
      if (whole && var == &v.In(1 - i)) return true;
      const Op* maker = v.facts.flow().Maker(*var);
      if (maker == nullptr || !v.facts.PropagatesLoss(*maker)) break;
      whole = whole || maker->HasTrait(OpTrait::kWhole) || (IsCast(*maker) && IsInteger(var->type.dtype));
      var = OnlyComputed(v.facts, *maker);
    }
  }
  made_from->clear();
  return false;
}

// An op that joins two values of a network makes neither more exact.
bool LeadsToAngle(const BackwardVisit& v) {
  if (v.op.def().opaque || !v.op.SubBlocks().empty() || IsNetworkProduct(v.op)) return false;
  const Var* product = nullptr;
  for (const Var* var : v.op.inputs()) {
    const Var& root = v.facts.flow().Root(*var);
    if (!v.Has(root, Fact::kProduct) || product == &root) continue;
    if (product != nullptr) return false;
    product = &root;
  }
  return true;
}

void WantFloat(const BackwardVisit& v, const Var& var) {
  if (v.facts.flow().Root(var).type.IsFloat()) v.Want(var);
}

// Back to inputs, integers, values of a size of their own and what products with weights give: these are not exact, and the work is theirs.
Effect AngleStep(const BackwardVisit& v) {
  if (v.wanted == 0 || !LeadsToAngle(v)) return Effect::kNone;
  v.Mark();
  if (v.Is(OpTrait::kNormalized)) return Effect::kEnds;  // what its operand loses does not show
  for (const Var* var : v.op.inputs()) WantFloat(v, *var);
  return Effect::kPasses;
}

}  // namespace

// Backwards from shapes, indexes and loop conditions to what computes them.
Effect IndexRule(BackwardVisit& v) {
  Effect step = Effect::kNone;
  const bool chooses = v.Is(OpTrait::kChooser);  // whoever reads the choice: equal scores and moved corners make it another
  if (chooses || v.facts.AsksForExact(v.op)) {
    for (int i = 0; i < static_cast<int>(v.op.inputs().size()); ++i) {
      if (!chooses && !IsExactOperand(v, v.op.def().inputs[v.op.InputSlotOf(i)], i)) continue;
      v.Want(v.In(i));
      step = Effect::kStarts;
    }
  }
  if (v.wanted == 0) return step;
  if (EndsExact(v)) return Effect::kEnds;
  v.Mark();
  v.WantOperands();
  return Effect::kPasses;
}

// The same from scales and zero points of quantisations, which stops at the largest and smallest value, too.
Effect ScaleRule(BackwardVisit& v) {
  Effect step = Effect::kNone;
  for (int i = 0; v.facts.AsksForExact(v.op) && i < static_cast<int>(v.op.inputs().size()); ++i) {
    if (!IsQuantisation(v.op.def().inputs[v.op.InputSlotOf(i)])) continue;
    v.Want(v.In(i));
    step = Effect::kStarts;
  }
  if (v.wanted == 0) return step;
  if (EndsExact(v) || v.Is(OpTrait::kExtremum) || v.Is(OpTrait::kSum)) return Effect::kEnds;
  v.Mark();
  v.WantOperands();
  return Effect::kPasses;
}

// A logarithm of small values (a power spectrum) needs all that leads to it, as far as what brings values to a size of their own. Where
// that is more than half of the work, as far as the last layer of a network: what is no network, but a transform of its inputs, stays fp32
// as a whole. Which of both, and the marks: rule_marks.cc.
Effect LogRule(BackwardVisit& v) {
  Effect step = Effect::kNone;
  if (v.Is(OpTrait::kLog) && !v.op.inputs().empty() && !(v.facts.Of(*v.op.inputs()[0]).bounds.low >= kSafeForLog)) {
    v.WantOperands(kLeadsToLog | kDirectToLog);
    step = Effect::kStarts;
  }
  if (v.wanted == 0 || v.Is(OpTrait::kShapeReader)) return step;  // what a shape is does not depend on what its tensor holds
  uint32_t way = v.wanted;
  if ((way & kBehindProduct) != 0 && !IsTransform(v)) way &= ~kDirectToLog;
  v.wanted = way;
  if (v.Is(OpTrait::kNormalized)) return Effect::kEnds;  // what its operand loses does not show
  if (AmpClassOf(v.op) == AmpClass::kAllow) way |= kBehindProduct;
  v.WantOperands(way);
  return Effect::kPasses;
}

Effect AngleRule(BackwardVisit& v) {
  Effect step = Effect::kNone;
  const Op& op = v.op;
  if (!op.inputs().empty()) {
    const bool remainder = v.Is(OpTrait::kRemainder) && HasF32(op.outputs());
    const bool periodic = v.Is(OpTrait::kPeriodic) && !(v.facts.Of(*op.inputs()[0]).bounds.Magnitude() <= kSmallAngle);
    for (int i = 0; (remainder || periodic) && i < static_cast<int>(op.inputs().size()); ++i) WantFloat(v, *op.inputs()[i]);
    std::vector<const Var*> made_from;
    const bool fraction = IsFraction(v, &made_from);
    for (const Var* var : made_from) WantFloat(v, *var);
    if (fraction || remainder) v.Mark();
    if (fraction || remainder || periodic) step = Effect::kStarts;
  }
  return std::max(step, AngleStep(v));
}

Effect CoordinateRule(BackwardVisit& v) {
  const bool samples = v.Is(OpTrait::kSampler) && v.op.inputs().size() > 1;
  if (samples) WantFloat(v, *v.op.inputs()[1]);
  return std::max(samples ? Effect::kStarts : Effect::kNone, AngleStep(v));
}

// Wanted is what something is computed with: what is left is only moved and fetched. An ONNX model's: a cast behind them or in front costs
// the same.
Effect ResultRule(BackwardVisit& v) {
  Effect step = Effect::kNone;
  const bool probability = onnx::TypeName(v.op.def()) == "Softmax" && onnx::DefOf(v.op.def()) != nullptr;
  if (v.op.outputs().size() == 1 && v.wanted == 0) {
    if (probability) {
      v.Mark([&] { return absl::StrCat("a probability that is only fetched, near 1 steps of ", Name(v.facts.low()), " are coarse"); });
      step = Effect::kStarts;
    }
    if (AmpClassOf(v.op) == AmpClass::kClear) return Effect::kPasses;
  } else if (probability) {
    step = Effect::kEnds;
  }
  v.WantOperands();
  return step;
}

}  // namespace ampc
