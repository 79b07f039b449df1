// Constants that the low type lacks, and what reads them: shapes, values beyond the range.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/op_record.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect/stored_losses.h"
#include "passes/amp/protect/thresholds.h"
#include "passes/amp/protect/visit.h"
#include "passes/analysis/schema_support.h"

namespace ampc {
namespace {

// A literal that was an attribute in an earlier version of the operator counts as one: a model is judged the same in all its operator sets.
bool FromConstants(const Visit& v) {
  if (v.Is(OpTrait::kShapeReader)) return true;
  const Op& op = v.op;
  if (!op.def().pure || op.def().opaque || !op.SubBlocks().empty()) return false;
  bool shape = op.inputs().empty();
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    const Var& root = v.In(i);
    const bool constant = v.Has(root, Fact::kConstant);
    if (!constant && root.literal == nullptr) return false;
    shape = shape || (constant && (root.literal == nullptr || !WasAttribute(op.def(), op.InputSlotOf(i))));
  }
  return shape;
}

// Few small numbers beside others do not show: a bias of ordinary sums, a slope.
bool CountsFor(const Visit& v, int flat, const LostValue& lost) {
  if (!lost.many) return true;
  if (v.Is(OpTrait::kAdditive) || v.Is(OpTrait::kSelection)) return lost.least > 0;
  if (AmpClassOf(v.op) == AmpClass::kAllow) return v.In(flat).type.has_rank && v.In(flat).type.rank() > 1;
  return v.Is(OpTrait::kProduct) || v.Is(OpTrait::kDivision) || MovesValues(v.op);
}

// Of an attribute, or with kNone of an operand.
Effect ReadConstant(Visit& v, const LostValue& lost, AttrUse use) {
  const bool operand = use == AttrUse::kNone;
  const bool bounds = operand ? v.Is(OpTrait::kSelection) : use == AttrUse::kBounds;
  const bool adds = operand ? v.Is(OpTrait::kAdditive) : use == AttrUse::kAdds;
  const bool product = v.Is(OpTrait::kProduct) || (v.Is(OpTrait::kDivision) && lost.many);
  const bool scales = operand ? product || AmpClassOf(v.op) == AmpClass::kAllow : use == AttrUse::kScales;
  // min(x, 1e30) keeps its meaning with an infinity; few bits count in what keeps a value from zero.
  if (lost.loss == Loss::kOverflows && bounds) return Effect::kNone;
  if (lost.loss == Loss::kImprecise && !adds && !bounds) return Effect::kNone;
  v.Mark([&] { return WhatIsLost(lost, v.facts.low()); });
  // An op that stays fp32 for a reason of its own hands on what it reads, if it only adds, scales or selects.
  if (!MayBecomeLow(v.op) && !adds && !bounds && !scales) return Effect::kStarts;
  if (lost.loss == Loss::kOverflows) {
    v.Give(Fact::kLarge);
    return Effect::kStarts;
  }
  v.Give(Fact::kSmall);
  if (adds || bounds) {
    v.SetSizeHint(Fact::SizeHint::kFloor, lost.least);
  } else if (scales) {
    v.SetSizeHint(lost.many ? Fact::SizeHint::kWeighted : Fact::SizeHint::kScaled, std::fabs(lost.value));
  }
  return Effect::kStarts;
}

Effect ReadOperand(Visit& v, int flat, bool moves, bool keeps) {
  const Op& op = v.op;
  const Var& var = v.In(flat);
  const Fact& fact = v.facts.Of(var);
  const LostValue& lost = fact.lost;
  if (lost.loss == Loss::kNone && !(keeps && v.facts.IsFixed(var))) return Effect::kNone;
  const bool follows = IsCast(op) || InputPrecisionFor(op.def(), op.InputSlotOf(flat), v.facts.low()) == SlotPrecision::kFollow;
  if (!follows) {
    // An op that stays fp32 because its version has no other type hands a large number on.
    const bool propagates = v.facts.PropagatesLoss(op) && !v.Is(OpTrait::kSelection);
    if (lost.loss == Loss::kOverflows && propagates && !SchemaAllows(op.def(), v.facts.low())) v.Give(Fact::kLarge);
    return Effect::kNone;
  }
  // A small number that the low type has keeps from zero all the same.
  if (lost.loss == Loss::kNone && fact.bounds.low == fact.bounds.high && fact.bounds.Magnitude() < v.facts.smallest()) {
    v.SetSizeHint(Fact::SizeHint::kFloor, fact.bounds.Magnitude());
  }
  if (lost.loss == Loss::kNone || !CountsFor(v, flat, lost)) return Effect::kNone;
  for (int i = 0; moves && i < v.num_results(); ++i) v.result(i).lost = lost;
  return IsCast(op) ? Effect::kNone : ReadConstant(v, lost, AttrUse::kNone);
}

Effect ReadAttribute(Visit& v, const AttrDef& attribute) {
  const double value = v.op.GetFloat(attribute.name);
  const LostValue lost = LossOf(value, v.facts.low());
  if (lost.loss != Loss::kNone) return ReadConstant(v, lost, attribute.use);
  const bool keeps = attribute.use == AttrUse::kAdds || attribute.use == AttrUse::kBounds;
  if (keeps && std::fabs(value) < v.facts.smallest()) v.SetSizeHint(Fact::SizeHint::kFloor, std::fabs(value));
  return Effect::kNone;
}

// Before operator set 15, scale, bias and statistics have the type of the values: variances beyond the range, or too small beside epsilon.
Effect CheckBatchNorm(Visit& v) {
  const Op& op = v.op;
  const DType low = v.facts.low();
  if (op.def().inputs.size() < 5 || onnx::TypeName(op.def()) != "BatchNormalization") return Effect::kNone;
  Effect step = Effect::kNone;
  for (int slot = 1; slot < 5; ++slot) {
    if (op.input(slot) == nullptr || InputPrecisionFor(op.def(), slot, low) != SlotPrecision::kFollow) continue;
    const std::vector<float> values = OriginalFloats(v.facts.flow().Root(*op.input(slot)));
    const LostValue lost = LossOf(values, low);
    if (lost.loss == Loss::kOverflows) {
      v.Mark([&] { return absl::StrCat(op.def().inputs[slot].name, " has ", WhatIsLost(lost, low)); });
      step = Effect::kStarts;
    }
    if (slot != 4) continue;
    const double epsilon = op.GetFloat("epsilon");
    for (const float variance : values) {
      const double error = std::fabs(Rounded(variance, low) - variance);
      if (low != DType::kF16 || !(error > kSmallError * (variance + epsilon))) continue;
      v.Mark([&] { return absl::StrCat("variance ", variance, " has few bits in ", Name(low)); });
      step = Effect::kStarts;
    }
  }
  return step;
}

}  // namespace

Effect ShapeRule(Visit& v) {
  if (!FromConstants(v)) return v.Reads(Fact::kConstant) ? Effect::kEnds : Effect::kNone;
  v.Give(Fact::kConstant);
  if (!v.op.inputs().empty()) v.Mark();
  return v.Reads(Fact::kConstant) ? Effect::kPasses : Effect::kStarts;
}

Effect ConstantRule(Visit& v) {
  const Op& op = v.op;
  Effect step = Effect::kNone;
  const bool computes = !op.def().opaque && (AmpClassOf(op) != AmpClass::kNever || IsCast(op)) && v.HasFloatResult();
  if (computes) {
    const bool moves = MovesValues(op) && !v.Is(OpTrait::kSelection) && NumFloats(op) == 1 && !IsLowPrecision(op.outputs()[0]->type.dtype);
    const bool keeps = v.Is(OpTrait::kAdditive) || v.Is(OpTrait::kSelection);
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) step = std::max(step, ReadOperand(v, i, moves, keeps));
    for (const AttrDef* attribute : v.facts.AttributesOf(op)) step = std::max(step, ReadAttribute(v, *attribute));
  }
  return std::max(step, CheckBatchNorm(v));
}

// Large values stay large through arithmetic until something bounds them.
Effect RangeRule(Visit& v) {
  if (!v.Reads(Fact::kLarge) || AmpClassOf(v.op) == AmpClass::kAllow) return Effect::kNone;
  v.Mark([&] { return absl::StrCat("reads a value beyond the range of ", Name(v.facts.low())); });
  // log_softmax stays fp32 for a reason of its own, and its result is as large as its operand.
  const bool large = (MayBecomeLow(v.op) || v.Is(OpTrait::kBounded)) && !v.TakesLargeAway();
  if (!large && !IsCast(v.op)) return Effect::kEnds;
  v.Give(Fact::kLarge);
  return Effect::kPasses;
}

Effect OverflowRule(Visit& v) {
  if (!MayBecomeLow(v.op)) return Effect::kNone;
  Effect step = Effect::kNone;
  for (int i = 0; i < v.num_results(); ++i) {
    const Bounds& bounds = v.result(i).bounds;
    const double least = std::max(bounds.low, -bounds.high);  // magnitude, where the interval has no zero
    if (!v.op.outputs()[i]->type.IsFloat() || !(least > v.facts.largest()) || v.result(i).Has(Fact::kLarge)) continue;
    v.Mark([&] { return absl::StrCat("is at least ", least, " for every input, beyond the range of ", Name(v.facts.low())); });
    v.Give(Fact::kLarge);
    step = Effect::kStarts;
  }
  return step;
}

Effect BoundsCheckRule(Visit& v) {
  if (!MayBecomeLow(v.op)) return Effect::kNone;
  Effect step = Effect::kNone;
  for (int i = 0; i < v.num_results(); ++i) {
    const double reach = v.result(i).bounds.Magnitude();
    if (!v.op.outputs()[i]->type.IsFloat() || !std::isfinite(reach) || reach <= v.facts.largest() ||
        v.result(i).Has(Fact::kLarge | Fact::kWorstCase))
      continue;
    v.Mark([&] { return absl::StrCat("reaches up to ", reach, ", beyond the range of ", Name(v.facts.low())); });
    v.Give(Fact::kLarge);
    step = Effect::kStarts;
  }
  return step;
}

}  // namespace ampc
