// The size of a value as constants tell it: what keeps a divisor from zero, what a division by it may reach, and what factors and weights
// make too small.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/op_record.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect/visit.h"

namespace ampc {
namespace {

using SizeHint = Fact::SizeHint;

const SizeHint& SizeHintOf(const Visit& v, const Var& var) { return v.facts.Of(var).size_hint; }
bool HasSizeHint(const Visit& v, const Var& var) { return SizeHintOf(v, var).kind != SizeHint::kNone; }

std::optional<double> ExponentOf(const Visit& v) {
  if (v.Is(OpTrait::kRoot)) return v.Is(OpTrait::kReciprocal) ? -0.5 : 0.5;
  if (v.Is(OpTrait::kReciprocal)) return -1;
  if (!v.Is(OpTrait::kPower)) return std::nullopt;
  if (v.op.inputs().size() < 2) return v.op.type() == "square" ? 2 : v.op.GetFloat("factor");
  const Bounds& exponent = v.facts.Of(*v.op.inputs()[1]).bounds;
  if (exponent.low == exponent.high) return exponent.low;
  return std::nullopt;
}

// How far a result reaches that inverts an operand of at least `floor`; 0 for none that does.
double ReachOfInverse(const Visit& v, double floor) {
  const Op& op = v.op;
  if (v.Is(OpTrait::kDivision) && op.inputs().size() == 2) {
    // A value that is not fixed is divided by its own size, as by a norm.
    const bool inverts = HasSizeHint(v, *op.inputs()[1]) && v.facts.IsFixed(v.In(0));
    return inverts ? v.facts.FactorOf(v.In(0)) / SizeHintOf(v, *op.inputs()[1]).size : 0;
  }
  const std::optional<double> exponent = ExponentOf(v);
  const bool hinted = !op.inputs().empty() && HasSizeHint(v, *op.inputs()[0]);
  return exponent.has_value() && *exponent < 0 && hinted ? std::pow(floor, *exponent) : 0;
}

// The floor of a sum of non-negative values, of a product of such ones, and of what keeps the size of its operand; 0 for none.
double FloorOfResult(const Visit& v, double floor) {
  const Op& op = v.op;
  if (v.Is(OpTrait::kProduct)) {
    double product = 1;
    for (const Var* var : op.inputs()) {
      const bool hinted = HasSizeHint(v, *var);
      if (!hinted && !v.facts.IsFixed(*var)) return 0;
      product *= hinted ? SizeHintOf(v, *var).size : v.facts.LeastFactorOf(*var);
    }
    return product;
  }
  if (v.Is(OpTrait::kAffine)) return floor * std::fabs(op.GetFloat("scale")) + std::max(0.0, op.GetFloat("bias"));
  const std::optional<double> exponent = ExponentOf(v);
  if (exponent.has_value()) return *exponent > 0 ? std::pow(floor, *exponent) : 0;
  if (MovesValues(op) || v.Is(OpTrait::kSum) || v.Is(OpTrait::kSelection)) return floor;
  if (!v.Is(OpTrait::kAdditive) || onnx::NativeName(op.def()) == "elementwise_sub") return 0;
  double sum = 0;
  for (const Var* var : op.inputs()) {
    const double least = HasSizeHint(v, *var) ? SizeHintOf(v, *var).size : v.facts.Of(*var).bounds.low;
    if (!(least >= 0)) return 0;
    sum += least;
  }
  return sum;
}

Effect FloorStep(Visit& v, double floor) {
  const double least = FloorOfResult(v, floor);
  if (!(least > 0) || least >= v.facts.smallest()) return Effect::kNone;
  v.SetSizeHint(SizeHint::kFloor, least);
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
std::optional<Scaled> SizeOfScaled(const Visit& v, const SizeHint& scaled) {
  const Op& op = v.op;
  const bool weighted = scaled.kind == SizeHint::kWeighted;
  double size = scaled.size;
  if (v.Is(OpTrait::kAdditive) && NumFloats(op) > 1) {
    for (const Var* var : op.inputs()) {
      if (!HasSizeHint(v, *var) && !(v.facts.IsFixed(*var) && v.facts.FactorOf(*var) < v.facts.smallest())) return std::nullopt;
    }
    return Scaled{size, true};
  }
  if (v.Is(OpTrait::kProduct) || v.Is(OpTrait::kDivision)) {
    const bool divides = v.Is(OpTrait::kDivision);
    if (divides && HasSizeHint(v, *op.inputs().back())) return std::nullopt;  // steep
    for (const Var* var : op.inputs()) {
      if (!HasSizeHint(v, *var)) size = divides ? size / v.facts.FactorOf(*var) : size * v.facts.FactorOf(*var);
    }
    // By what computes with it as it is, another factor may be meant to take it back.
    return Scaled{size, weighted || size > scaled.size};
  }
  if (v.Is(OpTrait::kAffine)) {
    if (std::fabs(op.GetFloat("bias")) >= v.facts.smallest()) return std::nullopt;
    return Scaled{size * std::fabs(op.GetFloat("scale")), true};
  }
  if (MovesValues(op)) return Scaled{size, true};
  const bool sums = AmpClassOf(op) == AmpClass::kAllow || v.Is(OpTrait::kSum) || v.Is(OpTrait::kRoot);
  return Scaled{size, weighted && (sums || (MayBecomeLow(op) && !v.Is(OpTrait::kBounded) && NumFloats(op) == 1))};
}

}  // namespace

void Visit::SetSizeHint(SizeHint::Kind kind, double size) {
  if (!(size > 0)) return;
  for (int i = 0; i < num_results(); ++i) {
    const Var& var = *op.outputs()[i];
    if (var.kind == VarKind::kTemp && var.type.IsFloat() && result(i).size_hint.kind == SizeHint::kNone) result(i).size_hint = {kind, size};
  }
}

SizeHint Visit::FindSizeHint() const {
  SizeHint found;
  if (op.def().opaque || !HasFloatResult()) return found;
  for (const Var* var : op.inputs()) {
    const SizeHint& hint = facts.Of(*var).size_hint;
    if (hint.kind == SizeHint::kNone) continue;
    if (found.kind == SizeHint::kNone || hint.kind == SizeHint::kReciprocal || found.kind == SizeHint::kFloor) found = hint;
  }
  return found;
}

Effect EpsRule(Visit& v) {
  Effect step = Effect::kNone;
  if (v.Reads(Fact::kSmall)) {
    const bool moves = MovesValues(v.op);
    const bool passes = moves || v.Is(OpTrait::kRoot);
    if (moves || v.Is(OpTrait::kSteepAtZero)) {
      v.Mark();
      step = passes ? Effect::kPasses : Effect::kEnds;
    }
    if (passes) v.Give(Fact::kSmall);
  }
  const SizeHint hint = v.FindSizeHint();
  if (hint.kind == SizeHint::kNone || hint.kind == SizeHint::kReciprocal) return step;
  if (const double reach = ReachOfInverse(v, hint.size); reach > 0) {
    if (reach <= v.facts.largest()) return step;
    v.Mark();
    v.SetSizeHint(SizeHint::kReciprocal, reach);
    return Effect::kEnds;
  }
  return hint.kind == SizeHint::kFloor ? std::max(step, FloorStep(v, hint.size)) : step;
}

// Up to the product with what it was made from, which has an ordinary size.
Effect ReciprocalRule(Visit& v) {
  const Op& op = v.op;
  const SizeHint found = v.FindSizeHint();
  if (found.kind != SizeHint::kReciprocal) {
    const bool starts = found.kind != SizeHint::kNone && ReachOfInverse(v, found.size) > v.facts.largest();
    return starts ? Effect::kStarts : Effect::kNone;  // EpsRule has said so
  }
  double reach = found.size;
  v.Mark([&] { return absl::StrCat("reads a reciprocal that may reach ", reach, ", beyond the range of ", Name(v.facts.low())); });
  if (AmpClassOf(op) == AmpClass::kAllow || v.TakesLargeAway()) return Effect::kEnds;
  if (v.Is(OpTrait::kProduct) || v.Is(OpTrait::kDivision)) {
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      const bool reciprocal = SizeHintOf(v, *op.inputs()[i]).kind == SizeHint::kReciprocal;
      const bool divisor = v.Is(OpTrait::kDivision) && i == 1;
      if (reciprocal ? divisor : !v.facts.IsFixed(*op.inputs()[i])) return Effect::kEnds;
      if (reciprocal) continue;
      reach = divisor ? reach / v.facts.FactorOf(*op.inputs()[i]) : reach * v.facts.FactorOf(*op.inputs()[i]);
    }
  } else if (const std::optional<double> exponent = ExponentOf(v)) {
    reach = std::pow(reach, *exponent);
  } else if (v.Is(OpTrait::kAffine)) {
    reach *= std::fabs(op.GetFloat("scale"));
  } else if (!MayBecomeLow(op) && !IsCast(op) && !v.Is(OpTrait::kSum)) {
    return Effect::kEnds;
  }
  if (reach <= v.facts.largest()) return Effect::kEnds;
  v.SetSizeHint(SizeHint::kReciprocal, reach);
  return Effect::kPasses;
}

// Up to what takes it back: a factor, a function with results of its own size, or a sum with something of ordinary size.
Effect ScaledRule(Visit& v) {
  const SizeHint scaled = v.FindSizeHint();
  const bool weighted = scaled.kind == SizeHint::kWeighted;
  if (scaled.kind == SizeHint::kNone && v.num_results() > 0 && v.result(0).size_hint.kind >= SizeHint::kScaled)
    return Effect::kStarts;  // ConstantRule has said so
  if ((scaled.kind != SizeHint::kScaled && !weighted) || ReachOfInverse(v, scaled.size) > 0 || v.Reads(Fact::kLarge)) return Effect::kNone;
  const std::optional<Scaled> result = SizeOfScaled(v, scaled);
  if (!result.has_value() || (!result->passes && !weighted)) return Effect::kNone;
  v.Mark();
  if (!result->passes || result->size >= v.facts.smallest()) return Effect::kEnds;
  v.SetSizeHint(scaled.kind, result->size);
  return Effect::kPasses;
}

}  // namespace ampc
