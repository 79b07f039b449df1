// What constants say of the size of a value: what keeps a divisor from zero, what a division by it may reach, and what factors and weights
// make too small.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect/visit.h"

namespace ampc {
namespace {

using Guard = Fact::Guard;

const Guard& GuardOf(const Visit& v, const Var& var) { return v.facts.Of(var).guard; }
bool IsGuarded(const Visit& v, const Var& var) { return GuardOf(v, var).kind != Guard::kNone; }

std::optional<double> ExponentOf(const Visit& v) {
  if (v.Is(OpKind::kRoot)) return v.Is(OpKind::kReciprocal) ? -0.5 : 0.5;
  if (v.Is(OpKind::kReciprocal)) return -1;
  if (!v.Is(OpKind::kPower)) return std::nullopt;
  if (v.op.inputs().size() < 2) return v.op.type() == "square" ? 2 : v.op.GetFloat("factor");
  const Bounds& exponent = v.facts.Of(*v.op.inputs()[1]).bounds;
  if (exponent.low == exponent.high) return exponent.low;
  return std::nullopt;
}

// How far a result reaches that inverts an operand of at least `floor`; 0 for none that does.
double ReachOfInverse(const Visit& v, double floor) {
  const Op& op = v.op;
  if (v.Is(OpKind::kDivision) && op.inputs().size() == 2) {
    // What is not fixed is divided by its own size, as by a norm.
    const bool inverts = IsGuarded(v, *op.inputs()[1]) && v.facts.IsFixed(v.In(0));
    return inverts ? v.facts.FactorOf(v.In(0)) / GuardOf(v, *op.inputs()[1]).size : 0;
  }
  const std::optional<double> exponent = ExponentOf(v);
  const bool guarded = !op.inputs().empty() && IsGuarded(v, *op.inputs()[0]);
  return exponent.has_value() && *exponent < 0 && guarded ? std::pow(floor, *exponent) : 0;
}

// The floor of a sum of non-negative values, of a product of such ones, and of what keeps the size of its operand; 0 for none.
double FloorOfResult(const Visit& v, double floor) {
  const Op& op = v.op;
  if (v.Is(OpKind::kProduct)) {
    double product = 1;
    for (const Var* var : op.inputs()) {
      const bool guarded = IsGuarded(v, *var);
      if (!guarded && !v.facts.IsFixed(*var)) return 0;
      product *= guarded ? GuardOf(v, *var).size : v.facts.FactorOf(*var);
    }
    return product;
  }
  if (v.Is(OpKind::kAffine)) return floor * std::fabs(op.GetFloat("scale")) + std::max(0.0, op.GetFloat("bias"));
  const std::optional<double> exponent = ExponentOf(v);
  if (exponent.has_value()) return *exponent > 0 ? std::pow(floor, *exponent) : 0;
  if (MovesValues(op) || v.Is(OpKind::kSum) || v.Is(OpKind::kSelection)) return floor;
  if (!v.Is(OpKind::kAdditive) || onnx::NativeName(op.def()) == "elementwise_sub") return 0;
  double sum = 0;
  for (const Var* var : op.inputs()) {
    const double least = IsGuarded(v, *var) ? GuardOf(v, *var).size : v.facts.Of(*var).bounds.low;
    if (!(least >= 0)) return 0;
    sum += least;
  }
  return sum;
}

Effect FollowFloor(Visit& v, double floor) {
  const double least = FloorOfResult(v, floor);
  if (!(least > 0) || least >= v.facts.smallest()) return Effect::kNone;
  v.SetGuard(Guard::kFloor, least);
  const Loss loss = LossOf(least, v.facts.low()).loss;
  if (loss != Loss::kVanishes && loss != Loss::kCoarse) return Effect::kNone;
  v.Mark();
  v.Give(Fact::kSmall);
  return Effect::kPasses;
}

// How the size of a value changes that factors or weights made small; nothing where it is not small any more, or that says nothing of it.
struct Scaled {
  double size;
  bool passes;
};
std::optional<Scaled> SizeOfScaled(const Visit& v, const Guard& scaled) {
  const Op& op = v.op;
  const bool weighted = scaled.kind == Guard::kWeighted;
  double size = scaled.size;
  if (v.Is(OpKind::kAdditive) && NumFloats(op) > 1) {
    for (const Var* var : op.inputs()) {
      if (!IsGuarded(v, *var) && !(v.facts.IsFixed(*var) && v.facts.FactorOf(*var) < v.facts.smallest())) return std::nullopt;
    }
    return Scaled{size, true};
  }
  if (v.Is(OpKind::kProduct) || v.Is(OpKind::kDivision)) {
    const bool divides = v.Is(OpKind::kDivision);
    if (divides && IsGuarded(v, *op.inputs().back())) return std::nullopt;  // steep
    for (const Var* var : op.inputs()) {
      if (!IsGuarded(v, *var)) size = divides ? size / v.facts.FactorOf(*var) : size * v.facts.FactorOf(*var);
    }
    // By what computes with it as it is, another factor may be meant to take it back.
    return Scaled{size, weighted || size > scaled.size};
  }
  if (v.Is(OpKind::kAffine)) {
    if (std::fabs(op.GetFloat("bias")) >= v.facts.smallest()) return std::nullopt;
    return Scaled{size * std::fabs(op.GetFloat("scale")), true};
  }
  if (MovesValues(op)) return Scaled{size, true};
  const bool sums = ClassOf(op) == AmpClass::kAllow || v.Is(OpKind::kSum) || v.Is(OpKind::kRoot);
  return Scaled{size, weighted && (sums || (MayBecomeLow(op) && !v.Is(OpKind::kBounded) && NumFloats(op) == 1))};
}

}  // namespace

void Visit::SetGuard(Guard::Kind kind, double size) {
  if (!(size > 0)) return;
  for (int i = 0; i < num_results(); ++i) {
    const Var& var = *op.outputs()[i];
    if (var.kind == VarKind::kTemp && var.type.IsFloat() && result(i).guard.kind == Guard::kNone) result(i).guard = {kind, size};
  }
}

Guard Visit::FindGuard() const {
  Guard found;
  if (op.def().opaque || !HasFloatResult()) return found;
  for (const Var* var : op.inputs()) {
    const Guard& guard = facts.Of(*var).guard;
    if (guard.kind == Guard::kNone) continue;
    if (found.kind == Guard::kNone || guard.kind == Guard::kReciprocal || found.kind == Guard::kFloor) found = guard;
  }
  return found;
}

Effect EpsRule(Visit& v) {
  Effect step = Effect::kNone;
  if (v.Reads(Fact::kSmall)) {
    const bool moves = MovesValues(v.op);
    const bool passes = moves || v.Is(OpKind::kRoot);
    if (moves || v.Is(OpKind::kSteepAtZero)) {
      v.Mark();
      step = passes ? Effect::kPasses : Effect::kEnds;
    }
    if (passes) v.Give(Fact::kSmall);
  }
  const Guard guard = v.FindGuard();
  if (guard.kind == Guard::kNone || guard.kind == Guard::kReciprocal) return step;
  if (const double reach = ReachOfInverse(v, guard.size); reach > 0) {
    if (reach <= v.facts.largest()) return step;
    v.Mark();
    v.SetGuard(Guard::kReciprocal, reach);
    return Effect::kEnds;
  }
  return guard.kind == Guard::kFloor ? std::max(step, FollowFloor(v, guard.size)) : step;
}

// Up to the product with what it was made from, which has an ordinary size.
Effect ReciprocalRule(Visit& v) {
  const Op& op = v.op;
  const Guard found = v.FindGuard();
  if (found.kind != Guard::kReciprocal) {
    const bool starts = found.kind != Guard::kNone && ReachOfInverse(v, found.size) > v.facts.largest();
    return starts ? Effect::kStarts : Effect::kNone;  // EpsRule has said so
  }
  double reach = found.size;
  v.Mark([&] { return absl::StrCat("reads a reciprocal that may reach ", reach, ", beyond the range of ", Name(v.facts.low())); });
  if (ClassOf(op) == AmpClass::kAllow || v.TakesLargeAway()) return Effect::kEnds;
  if (v.Is(OpKind::kProduct) || v.Is(OpKind::kDivision)) {
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      const bool reciprocal = GuardOf(v, *op.inputs()[i]).kind == Guard::kReciprocal;
      const bool divisor = v.Is(OpKind::kDivision) && i == 1;
      if (reciprocal ? divisor : !v.facts.IsFixed(*op.inputs()[i])) return Effect::kEnds;
      if (reciprocal) continue;
      reach = divisor ? reach / v.facts.FactorOf(*op.inputs()[i]) : reach * v.facts.FactorOf(*op.inputs()[i]);
    }
  } else if (const std::optional<double> exponent = ExponentOf(v)) {
    reach = std::pow(reach, *exponent);
  } else if (v.Is(OpKind::kAffine)) {
    reach *= std::fabs(op.GetFloat("scale"));
  } else if (!MayBecomeLow(op) && !IsCast(op) && !v.Is(OpKind::kSum)) {
    return Effect::kEnds;
  }
  if (reach <= v.facts.largest()) return Effect::kEnds;
  v.SetGuard(Guard::kReciprocal, reach);
  return Effect::kPasses;
}

// Up to what takes it back: a factor, a function with results of its own size, or a sum with something of ordinary size.
Effect ScaledRule(Visit& v) {
  const Guard scaled = v.FindGuard();
  const bool weighted = scaled.kind == Guard::kWeighted;
  if (scaled.kind == Guard::kNone && v.num_results() > 0 && v.result(0).guard.kind >= Guard::kScaled)
    return Effect::kStarts;  // ConstantRule has said so
  if ((scaled.kind != Guard::kScaled && !weighted) || ReachOfInverse(v, scaled.size) > 0 || v.Reads(Fact::kLarge)) return Effect::kNone;
  const std::optional<Scaled> result = SizeOfScaled(v, scaled);
  if (!result.has_value() || (!result->passes && !weighted)) return Effect::kNone;
  v.Mark();
  if (!result->passes || result->size >= v.facts.smallest()) return Effect::kEnds;
  v.SetGuard(scaled.kind, result->size);
  return Effect::kPasses;
}

}  // namespace ampc
