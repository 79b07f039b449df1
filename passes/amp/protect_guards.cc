// Constants, and what they say of the size of a value: what keeps a divisor from zero, what a division by it may reach, and what factors and
// weights make too small.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect_util.h"
#include "passes/amp/protector.h"
#include "passes/analysis/op_kinds.h"
#include "passes/analysis/schema_support.h"

namespace ampc {
namespace {

constexpr char kReadsGuarded[] = "protect.eps: reads a value that a constant keeps from zero";

bool MovesValues(const Op& op) {
  const AmpClass amp = ClassOf(op);
  return amp == AmpClass::kClear || amp == AmpClass::kWidest || IsCast(op);
}

int NumFloats(const Op& op) {
  int count = 0;
  for (const Var* var : op.inputs()) count += var->type.IsFloat() ? 1 : 0;
  return count;
}

}  // namespace

void Protector::ReadConstants(const Op& op) {
  if (op.def().opaque || (ClassOf(op) == AmpClass::kNever && !IsCast(op)) || op.outputs().empty() || !op.outputs()[0]->type.IsFloat()) return;
  const bool moves = MovesValues(op) && !Is(op, OpKind::kSelection) && NumFloats(op) == 1 && !IsLowPrecision(op.outputs()[0]->type.dtype);
  const bool keeps = Is(op, OpKind::kAdditive) || Is(op, OpKind::kSelection);
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    const Var& var = In(op, i);
    const LostValue& lost = lost_[var.id()];
    if (lost.loss == Loss::kNone && !(keeps && IsFixed(var))) continue;
    const bool follows = IsCast(op) || InputPrecisionFor(op.def(), op.InputSlotOf(i), low_) == SlotPrecision::kFollow;
    // What stays fp32 because its version has no other type gives a large number on.
    if (!follows && lost.loss == Loss::kOverflows && HandsOn(op) && !Is(op, OpKind::kSelection) && !SchemaAllows(op.def(), low_)) Set(op, kLarge);
    if (!follows) continue;
    // A small number that the low type has keeps from zero all the same.
    if (lost.loss == Loss::kNone && bounds_.Of(var).low == bounds_.Of(var).high && bounds_.Of(var).Magnitude() < smallest_) {
      SetGuard(op, Guard::kFloor, bounds_.Of(var).Magnitude());
    }
    if (lost.loss == Loss::kNone || !CountsFor(op, i, lost)) continue;
    if (moves) {
      for (const Var* out : op.outputs()) lost_[out->id()] = lost;
    }
    if (!IsCast(op)) ReadConstant(op, lost, AttributeUse::kOperand);
  }
  for (const DataAttribute& attribute : attributes_.Of(op.def(), DataAttributesOf)) {
    const double value = op.GetFloat(attribute.name);
    const LostValue lost = LossOf(value, low_);
    if (lost.loss != Loss::kNone) {
      ReadConstant(op, lost, attribute.use);
    } else if ((attribute.use == AttributeUse::kAdds || attribute.use == AttributeUse::kBounds) && std::fabs(value) < smallest_) {
      SetGuard(op, Guard::kFloor, std::fabs(value));
    }
  }
}

void Protector::ReadConstant(const Op& op, const LostValue& lost, AttributeUse use) {
  const bool operand = use == AttributeUse::kOperand;
  const bool bounds = operand ? Is(op, OpKind::kSelection) : use == AttributeUse::kBounds;
  const bool adds = operand ? Is(op, OpKind::kAdditive) : use == AttributeUse::kAdds;
  const bool product = Is(op, OpKind::kProduct) || (Is(op, OpKind::kDivision) && lost.many);
  const bool scales = operand ? product || ClassOf(op) == AmpClass::kAllow : use == AttributeUse::kScales;
  // min(x, 1e30) keeps its meaning with an infinity; few bits count in what keeps a value from zero.
  if (lost.loss == Loss::kOverflows && bounds) return;
  if (lost.loss == Loss::kImprecise && !adds && !bounds) return;
  Because(op, absl::StrCat("protect.constant: ", WhatIsLost(lost, low_)));
  // What stays fp32 for a reason of its own gives on what it reads, where it only adds, scales or selects.
  if (!MayBecomeLow(op) && !adds && !bounds && !scales) return;
  if (lost.loss == Loss::kOverflows) {
    Set(op, kLarge);
    return;
  }
  Set(op, kSmall);
  if (adds || bounds) {
    SetGuard(op, Guard::kFloor, lost.least);
  } else if (scales) {
    SetGuard(op, lost.many ? Guard::kWeighted : Guard::kScaled, std::fabs(lost.value));
  }
}

// Few small numbers beside others do not show: a bias of ordinary sums, a slope.
bool Protector::CountsFor(const Op& op, int flat, const LostValue& lost) const {
  if (!lost.many) return true;
  if (Is(op, OpKind::kAdditive) || Is(op, OpKind::kSelection)) return lost.least > 0;
  if (ClassOf(op) == AmpClass::kAllow) return In(op, flat).type.has_rank && In(op, flat).type.rank() > 1;
  return Is(op, OpKind::kProduct) || Is(op, OpKind::kDivision) || MovesValues(op);
}

const Protector::Guard* Protector::GuardOf(const Var& var) const {
  const auto it = guards_.find(roots_.Root(var).id());
  return it == guards_.end() ? nullptr : &it->second;
}

void Protector::SetGuard(const Op& op, Guard::Kind kind, double size) {
  if (!(size > 0)) return;
  for (const Var* var : op.outputs()) {
    if (var->kind == VarKind::kTemp && var->type.IsFloat()) guards_.try_emplace(var->id(), Guard{kind, size});
  }
}

double Protector::FactorOf(const Var& var) const {
  const Var& root = roots_.Root(var);
  const LostValue& lost = lost_[root.id()];
  if (lost.loss != Loss::kNone) return std::fabs(lost.value);
  const double magnitude = bounds_.Of(root).Magnitude();
  return IsFixed(root) && std::isfinite(magnitude) ? magnitude : 1;
}

std::optional<double> Protector::ExponentOf(const Op& op) const {
  if (Is(op, OpKind::kRoot)) return Is(op, OpKind::kReciprocal) ? -0.5 : 0.5;
  if (Is(op, OpKind::kReciprocal)) return -1;
  if (!Is(op, OpKind::kPower)) return std::nullopt;
  if (op.inputs().size() < 2) return op.type() == "square" ? 2 : op.GetFloat("factor");
  const Bounds& exponent = bounds_.Of(*op.inputs()[1]);
  if (exponent.low == exponent.high) return exponent.low;
  return std::nullopt;
}

void Protector::FollowGuards(const Op& op) {
  if (Reads(op, kSmall)) {
    const bool moves = MovesValues(op);
    if (moves || Is(op, OpKind::kSteepAtZero)) Because(op, kReadsGuarded);
    if (moves || Is(op, OpKind::kRoot)) Set(op, kSmall);
  }
  if (guards_.empty() || op.def().opaque || op.outputs().empty() || !op.outputs()[0]->type.IsFloat()) return;
  const Guard* found = nullptr;  // a reciprocal counts most: it becomes infinite
  for (const Var* var : op.inputs()) {
    const Guard* guard = GuardOf(*var);
    if (guard != nullptr && (found == nullptr || guard->kind == Guard::kReciprocal || found->kind == Guard::kFloor)) found = guard;
  }
  if (found == nullptr) return;
  const Guard guard = *found;  // the table may grow
  if (guard.kind == Guard::kReciprocal) return FollowReciprocal(op, guard.size);
  if (const double reach = ReachOfInverse(op, guard.size); reach > 0) {
    if (reach <= largest_) return;
    Because(op, kReadsGuarded);
    SetGuard(op, Guard::kReciprocal, reach);
  } else if (guard.kind == Guard::kFloor) {
    FollowFloor(op, guard.size);
  } else {
    FollowScaled(op, guard);
  }
}

double Protector::ReachOfInverse(const Op& op, double floor) const {
  if (Is(op, OpKind::kDivision) && op.inputs().size() == 2) {
    const Guard* divisor = GuardOf(*op.inputs()[1]);
    // What is not fixed is divided by its own size, as by a norm.
    return divisor != nullptr && IsFixed(In(op, 0)) ? FactorOf(In(op, 0)) / divisor->size : 0;
  }
  const std::optional<double> exponent = ExponentOf(op);
  const Guard* base = op.inputs().empty() ? nullptr : GuardOf(*op.inputs()[0]);
  return exponent.has_value() && *exponent < 0 && base != nullptr ? std::pow(floor, *exponent) : 0;
}

double Protector::FloorOfResult(const Op& op, double floor) const {
  if (Is(op, OpKind::kProduct)) {
    double product = 1;
    for (const Var* var : op.inputs()) {
      const Guard* guard = GuardOf(*var);
      if (guard == nullptr && !IsFixed(*var)) return 0;
      product *= guard != nullptr ? guard->size : FactorOf(*var);
    }
    return product;
  }
  if (Is(op, OpKind::kAffine)) return floor * std::fabs(op.GetFloat("scale")) + std::max(0.0, op.GetFloat("bias"));
  const std::optional<double> exponent = ExponentOf(op);
  if (exponent.has_value()) return *exponent > 0 ? std::pow(floor, *exponent) : 0;
  if (MovesValues(op) || Is(op, OpKind::kSum) || Is(op, OpKind::kSelection)) return floor;
  if (!Is(op, OpKind::kAdditive) || onnx::NativeName(op.def()) == "elementwise_sub") return 0;
  double sum = 0;
  for (const Var* var : op.inputs()) {
    const Guard* guard = GuardOf(*var);
    const double least = guard != nullptr ? guard->size : bounds_.Of(*var).low;
    if (!(least >= 0)) return 0;
    sum += least;
  }
  return sum;
}

void Protector::FollowFloor(const Op& op, double floor) {
  const double least = FloorOfResult(op, floor);
  if (!(least > 0) || least >= smallest_) return;
  SetGuard(op, Guard::kFloor, least);
  const Loss loss = LossOf(least, low_).loss;
  if (loss != Loss::kVanishes && loss != Loss::kCoarse) return;
  Because(op, kReadsGuarded);
  Set(op, kSmall);
}

// Up to the product with what it was made from, which has an ordinary size.
void Protector::FollowReciprocal(const Op& op, double reach) {
  Because(op, absl::StrCat("protect.reciprocal: reads a reciprocal that may reach ", reach, ", beyond the range of ", Name(low_)));
  const bool selects = Is(op, OpKind::kSelection);
  if (ClassOf(op) == AmpClass::kAllow || (Is(op, OpKind::kBounded) && !selects) || (selects && InRange(*op.outputs()[0]))) return;
  if (Is(op, OpKind::kProduct) || Is(op, OpKind::kDivision)) {
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      const Guard* guard = GuardOf(*op.inputs()[i]);
      const bool reciprocal = guard != nullptr && guard->kind == Guard::kReciprocal;
      const bool divisor = Is(op, OpKind::kDivision) && i == 1;
      if (reciprocal ? divisor : !IsFixed(*op.inputs()[i])) return;
      if (reciprocal) continue;
      reach = divisor ? reach / FactorOf(*op.inputs()[i]) : reach * FactorOf(*op.inputs()[i]);
    }
  } else if (const std::optional<double> exponent = ExponentOf(op)) {
    reach = std::pow(reach, *exponent);
  } else if (Is(op, OpKind::kAffine)) {
    reach *= std::fabs(op.GetFloat("scale"));
  } else if (!MayBecomeLow(op) && !IsCast(op) && !Is(op, OpKind::kSum)) {
    return;
  }
  if (reach > largest_) SetGuard(op, Guard::kReciprocal, reach);
}

// Up to what takes it back: a factor, a function with results of its own size, or a sum with something of ordinary size.
void Protector::FollowScaled(const Op& op, const Guard& scaled) {
  if (Reads(op, kLarge)) return;
  const bool weighted = scaled.kind == Guard::kWeighted;
  double size = scaled.size;
  bool passes = MovesValues(op) || (weighted && (ClassOf(op) == AmpClass::kAllow || Is(op, OpKind::kSum) || Is(op, OpKind::kRoot)));
  if (Is(op, OpKind::kAdditive) && NumFloats(op) > 1) {
    for (const Var* var : op.inputs()) {
      if (GuardOf(*var) == nullptr && !(IsFixed(*var) && FactorOf(*var) < smallest_)) return;
    }
    passes = true;
  } else if (Is(op, OpKind::kProduct) || Is(op, OpKind::kDivision)) {
    if (Is(op, OpKind::kDivision) && GuardOf(*op.inputs().back()) != nullptr) return;  // steep
    const bool divides = Is(op, OpKind::kDivision);
    for (const Var* var : op.inputs()) {
      if (GuardOf(*var) == nullptr) size = divides ? size / FactorOf(*var) : size * FactorOf(*var);
    }
    // By what computes with it as it is, another factor may be meant to take it back.
    passes = weighted || size > scaled.size;
  } else if (Is(op, OpKind::kAffine)) {
    if (std::fabs(op.GetFloat("bias")) >= smallest_) return;
    size *= std::fabs(op.GetFloat("scale"));
    passes = true;
  } else if (!passes && weighted) {
    passes = MayBecomeLow(op) && !Is(op, OpKind::kBounded) && NumFloats(op) == 1;
  }
  if (!passes && !weighted) return;
  Because(op, "protect.scaled: reads a value that factors or weights make small");
  if (passes && size < smallest_) SetGuard(op, scaled.kind, size);
}

}  // namespace ampc
