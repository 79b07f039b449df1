// Powers, sums and statistics: what leaves the range because many values, or one value several times, are in it.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/op_record.h"
#include "passes/amp/protect/thresholds.h"
#include "passes/amp/protect/visit.h"

namespace ampc {
namespace {

// The one other operand of what divides by a number, null where there is none.
const Var* DividedBy(const Visit& v, double* divisor) {
  const Op& op = v.op;
  if (v.Is(OpTrait::kAffine) && op.inputs().size() == 1 && op.GetFloat("bias") == 0) {
    *divisor = 1 / std::fabs(op.GetFloat("scale"));
    return &v.In(0);
  }
  const bool product = v.Is(OpTrait::kProduct);
  if (op.inputs().size() != 2 || !(v.Is(OpTrait::kDivision) || product)) return nullptr;
  for (int number = 1; number >= (product ? 0 : 1); --number) {
    if (!v.facts.IsFixed(v.In(number)) || v.In(number).type.NumElements() != 1) continue;
    const double factor = v.facts.FactorOf(v.In(number));
    *divisor = product ? 1 / factor : factor;
    return &v.In(1 - number);
  }
  return nullptr;
}

// A matrix product divided by its own length: a covariance, a Gram matrix.
Effect MeanProduct(Visit& v) {
  if (v.facts.low() != DType::kF16) return Effect::kNone;
  double divisor = 0;
  const Var* var = DividedBy(v, &divisor);
  if (var == nullptr || !(divisor >= kLongProduct)) return Effect::kNone;
  std::vector<const Op*> kept = v.facts.MakersOf(*var);
  const std::optional<int64_t> terms = kept.empty() ? std::nullopt : TermsOfProduct(*kept.back());
  if (!terms.has_value() || (IsKnown(*terms) && static_cast<double>(*terms) < divisor / 2)) return Effect::kNone;
  kept.push_back(&v.op);
  for (const Op* each : kept) {
    v.MarkOther(
        *each, [&] { return absl::StrCat("a product that is divided by ", divisor, " may be beyond the range of ", Name(v.facts.low())); });
  }
  return Effect::kStarts;
}

// A sum is denied because it may leave the range, so what scales it back needs it as it is.
Effect SumStep(Visit& v) {
  const Op& op = v.op;
  const AmpClass amp = AmpClassOf(op);
  if (amp == AmpClass::kDeny && v.Is(OpTrait::kSum) && v.HasFloatResult()) {
    if (v.ResultInRange()) return Effect::kNone;
    v.Give(Fact::kSummed);
    return Effect::kStarts;
  }
  if (!v.Reads(Fact::kSummed)) return Effect::kNone;
  // A softmax that is spelt out may divide only what its exponentials are multiplied with.
  const bool exponential = v.Reads(Fact::kExp);
  if (amp == AmpClass::kAllow && !exponential) return Effect::kNone;
  v.Mark([&] { return absl::StrCat("reads a sum, an area or an exponential that may be beyond the range of ", Name(v.facts.low())); });
  if (amp != AmpClass::kClear && !IsCast(op) && !v.Is(OpTrait::kAdditive)) return Effect::kEnds;
  v.Give(exponential ? Fact::kSummed | Fact::kExp : Fact::kSummed);
  return Effect::kPasses;
}

// The difference from a largest value that an exponential has as its exponent.
const Op* DistanceInExponent(const Visit& v) {
  if (!v.Is(OpTrait::kExp) || v.op.inputs().size() != 1) return nullptr;
  const Op* exponent = v.facts.flow().Maker(v.In(0));
  return exponent != nullptr && v.facts.IsDistanceFromExtremum(*exponent) ? exponent : nullptr;
}

bool IsSquareOfSums(const Visit& v) {
  if (!v.HasFloatResult()) return false;
  const bool product = v.Is(OpTrait::kProduct) && v.op.inputs().size() == 2 && &v.In(0) == &v.In(1);
  if (!product && !v.Is(OpTrait::kPower)) return false;
  const Var& out = *v.op.outputs()[0];
  const ValueFlow& flow = v.facts.flow();
  const absl::Span<const int32_t> readers = flow.Readers(out);
  return !readers.empty() && !v.facts.IsFetched(out) &&
         std::all_of(readers.begin(), readers.end(), [&](int32_t reader) { return flow.ops()[reader]->HasTrait(OpTrait::kSum); });
}

// The values that an fp32 statistic is compared with: mean squares and squared means, back to the sums.
void KeepOtherMoments(const Visit& v) {
  const Facts& facts = v.facts;
  std::vector<const Op*> moments;
  std::vector<const Var*> todo;
  for (const Var* var : v.op.inputs()) {
    if (!v.Has(*var, Fact::kStatistic)) todo.push_back(var);
  }
  while (!todo.empty()) {
    const Var& var = *todo.back();
    todo.pop_back();
    if (facts.IsFixed(var)) continue;
    const Op* maker = facts.flow().Maker(var);
    if (maker == nullptr || moments.size() >= kMostMoments) return;
    moments.push_back(maker);
    if (maker->HasTrait(OpTrait::kSum)) continue;
    const bool arithmetic = maker->HasTrait(OpTrait::kProduct) || maker->HasTrait(OpTrait::kPower) || maker->HasTrait(OpTrait::kAdditive);
    if (!arithmetic && AmpClassOf(*maker) != AmpClass::kClear) return;
    for (const Var* operand : maker->inputs()) {
      if (operand->type.IsFloat()) todo.push_back(operand);
    }
  }
  for (const Op* moment : moments) v.MarkOther(*moment, [] { return std::string("compared with a mean or sum of squares"); });
}

}  // namespace

Effect PowerRule(Visit& v) {
  if (!v.Is(OpTrait::kProduct) || v.op.inputs().size() != 2 || !v.HasFloatResult()) return Effect::kNone;
  Fact::Power factors[2];
  for (int i = 0; i < 2; ++i) {
    const Fact::Power& power = v.facts.Of(v.In(i)).power;
    factors[i] = power.base >= 0 ? power : Fact::Power{v.In(i).id(), 1};
  }
  Fact::Power& power = v.result(0).power;
  for (int i = 0; i < 2; ++i) {
    if (v.facts.IsFixed(v.In(1 - i))) power = factors[i];
  }
  if (factors[0].base != factors[1].base) return Effect::kNone;
  power = {factors[0].base, factors[0].degree + factors[1].degree};
  if (power.degree < kHighDegree || v.ResultInRange()) return Effect::kNone;
  v.Mark([&] { return absl::StrCat("a product of ", power.degree, " factors of one value"); });
  for (int i = 0; i < 2; ++i) {
    const Op* maker = v.facts.flow().Maker(v.In(i));
    if (factors[i].degree > 1 && maker != nullptr) v.MarkOther(*maker);
  }
  v.Give(Fact::kLarge);
  return Effect::kStarts;
}

Effect SumRule(Visit& v) {
  Effect step = SumStep(v);
  const bool exponential = v.Is(OpTrait::kExp) && v.op.inputs().size() == 1 && v.facts.low() == DType::kF16 && !v.ResultInRange();
  if (exponential && DistanceInExponent(v) == nullptr) {  // from 11.1 on
    v.Give(Fact::kSummed | Fact::kExp);
    step = Effect::kStarts;
  }
  return std::max(step, MeanProduct(v));
}

// x * x that only reductions read: one x of 256 is enough to overflow f16, and small ones vanish. Means of them stay wide until a root.
Effect StatisticsRule(Visit& v) {
  if (IsSquareOfSums(v)) {
    v.Mark();
    v.Give(Fact::kSquare);
    return Effect::kStarts;
  }
  if (v.Is(OpTrait::kSum) && v.Reads(Fact::kSquare)) {
    v.Mark();
    v.Give(Fact::kStatistic);
    return Effect::kPasses;
  }
  if (!v.Reads(Fact::kStatistic) || AmpClassOf(v.op) == AmpClass::kAllow) return Effect::kNone;
  v.Mark([] { return std::string("reads a mean or sum of squares"); });
  bool scaled = v.op.inputs().size() == 2;
  for (const Var* var : v.op.inputs()) scaled = scaled && (v.Has(*var, Fact::kStatistic) || v.facts.IsFixed(*var));
  const bool bounded = v.Is(OpTrait::kBounded) && !v.Is(OpTrait::kSelection);
  if (v.Is(OpTrait::kRoot) || bounded || (v.Is(OpTrait::kSteepAtZero) && !scaled)) return Effect::kEnds;
  if (v.Is(OpTrait::kProduct) && !scaled) return Effect::kEnds;
  v.Give(Fact::kStatistic);
  if (v.Is(OpTrait::kAdditive)) KeepOtherMoments(v);
  return Effect::kPasses;
}

Effect DistanceRule(Visit& v) {
  const Op* exponent = DistanceInExponent(v);
  if (exponent == nullptr) return Effect::kNone;
  v.MarkOther(*exponent);
  return Effect::kStarts;
}

}  // namespace ampc
