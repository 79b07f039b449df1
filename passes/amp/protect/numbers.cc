// Numbers that were integers, and numbers that say something of a whole step: positions, lengths, identifiers and sums of products of
// quantised values, of which the low type has the small ones alone; losses, which a training step follows and scales, and people read.
#include "graph/op_record.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect/thresholds.h"
#include "passes/amp/protect/visit.h"

namespace ampc {
namespace {

// The effect of a rule at arithmetic on a value that was an integer.
enum class OfIntegers { kNothing, kAlone, kDivides };

OfIntegers ArithmeticOf(const Visit& v) {
  const bool ends = AmpClassOf(v.op) == AmpClass::kAllow || (v.Is(OpTrait::kBounded) && !v.Is(OpTrait::kSelection));
  if (!v.HasFloatResult() || !v.Reads(Fact::kWhole) || ends) return OfIntegers::kNothing;
  bool alone = true;
  for (const Var* var : v.op.inputs()) alone = alone && (!var->type.IsFloat() || v.Has(*var, Fact::kWhole) || v.facts.IsFixed(*var));
  if (alone) return OfIntegers::kAlone;
  const bool divides = v.Is(OpTrait::kArithmetic) && v.Is(OpTrait::kSteepAtZero) && v.op.inputs().size() == 2;
  return divides && v.Has(*v.op.inputs()[1], Fact::kWhole) ? OfIntegers::kDivides : OfIntegers::kNothing;
}

bool IsOneElement(const Var& var) { return var.type.has_rank && var.type.NumElements() == 1; }

bool IsCastOfIntegers(const Visit& v) { return IsCast(v.op) && IsInteger(v.In(0).type.dtype); }

bool IsDynamicScale(const Op& op) { return op.outputs().size() > 1 && onnx::TypeName(op.def()) == "DynamicQuantizeLinear"; }

}  // namespace

// Arithmetic on them with constants only, up to what bounds it: the product of a mask with a network's values is the network's.
Effect CountRule(Visit& v) {
  if (IsDynamicScale(v.op)) {
    v.result(1).traits |= Fact::kWhole;  // the scale, which takes sums of its integers back; a product of two is below the range
    return Effect::kStarts;
  }
  if (!v.HasFloatResult()) return Effect::kNone;
  const bool large = !(v.result(0).bounds.Magnitude() <= MostExact(v.facts.low()));
  if (IsCastOfIntegers(v)) {
    if (!large || v.Has(*v.op.inputs()[0], Fact::kConstant)) return Effect::kNone;
    v.Give(Fact::kWhole);
    return Effect::kStarts;
  }
  if (ArithmeticOf(v) != OfIntegers::kAlone) return v.Reads(Fact::kWhole) ? Effect::kEnds : Effect::kNone;
  v.Mark();
  if (!large || !v.facts.PropagatesLoss(v.op)) return Effect::kEnds;
  v.Give(Fact::kWhole);
  return Effect::kPasses;
}

// An exception, because no mask divides.
Effect DivisorRule(Visit& v) {
  if (IsDynamicScale(v.op) || !v.HasFloatResult() || IsCastOfIntegers(v) || ArithmeticOf(v) != OfIntegers::kDivides) return Effect::kNone;
  v.Mark();
  return Effect::kStarts;
}

Effect LossRule(Visit& v) {
  const Op& op = v.op;
  if (op.outputs().empty() || op.inputs().empty()) return Effect::kNone;
  if (v.Is(OpTrait::kLoss)) {
    for (const char* slot : {"Loss", "Y", "output"}) {
      const Var* loss = op.output(slot);
      for (int i = 0; i < v.num_results(); ++i) {
        if (op.outputs()[i] == loss) v.result(i).traits |= Fact::kOfLoss;
      }
    }
    return Effect::kStarts;
  }
  const bool reduces = v.Is(OpTrait::kSum) && v.facts.IsNumber(*op.outputs()[0]) && !IsOneElement(v.In(0));
  const bool reads = v.Reads(Fact::kOfLoss);
  if (!reduces && !(reads && v.facts.PropagatesLoss(op))) return reads ? Effect::kEnds : Effect::kNone;
  v.Mark();
  v.Give(Fact::kOfLoss);
  return reads ? Effect::kPasses : Effect::kStarts;
}

}  // namespace ampc
