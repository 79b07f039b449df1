// Powers, sums and statistics: what leaves the range because many values, or one value several times, are in it.
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "passes/amp/protect_util.h"
#include "passes/amp/protector.h"
#include "passes/analysis/op_kinds.h"

namespace ampc {
namespace {

constexpr char kStatistics[] = "protect.statistics: squares that are only averaged or summed";
// From this degree on a value of ordinary size leaves the range: 41 cubed is above 65504.
constexpr int kHighDegree = 3;
// What is divided by that much and is of ordinary size then, 32 or more, was beyond the range.
constexpr double kLongProduct = 2048;
// How far a second moment is looked for.
constexpr int kMostMoments = 32;

}  // namespace

void Protector::FollowPowers(const Op& op) {
  if (!Is(op, OpKind::kProduct) || op.inputs().size() != 2 || op.outputs().empty() || !op.outputs()[0]->type.IsFloat()) return;
  Power factors[2];
  for (int i = 0; i < 2; ++i) {
    const Var& var = In(op, i);
    factors[i] = powers_[var.id()].base >= 0 ? powers_[var.id()] : Power{var.id(), 1};
  }
  const Var& out = *op.outputs()[0];
  for (int i = 0; i < 2; ++i) {
    if (IsFixed(In(op, 1 - i))) powers_[out.id()] = factors[i];
  }
  if (factors[0].base != factors[1].base) return;
  const int degree = factors[0].degree + factors[1].degree;
  powers_[out.id()] = {factors[0].base, degree};
  if (degree < kHighDegree || InRange(out)) return;
  Because(op, absl::StrCat("protect.power: a product of ", degree, " factors of one value"));
  for (int i = 0; i < 2; ++i) {
    const Op* definer = definers_[In(op, i).id()];
    if (factors[i].degree > 1 && definer != nullptr) Because(*definer, "protect.power: part of a product of many factors of one value");
  }
  Set(op, kLarge);
}

// A sum is denied because it may leave the range, so what scales it back needs it as it is.
void Protector::FollowSums(const Op& op) {
  const AmpClass amp = ClassOf(op);
  if (amp == AmpClass::kDeny && Is(op, OpKind::kSum) && !op.outputs().empty() && op.outputs()[0]->type.IsFloat()) {
    if (!InRange(*op.outputs()[0])) Set(op, kSummed);
    return;
  }
  if (!Reads(op, kSummed)) return;
  // A softmax that is spelt out may divide only what its exponentials are multiplied with.
  const bool exponential = Reads(op, kExp);
  if (amp == AmpClass::kAllow && !exponential) return;
  Because(op, absl::StrCat("protect.sum: reads a sum, an area or an exponential that may be beyond the range of ", Name(low_)));
  if (amp == AmpClass::kClear || IsCast(op) || Is(op, OpKind::kAdditive)) Set(op, exponential ? kSummed | kExp : kSummed);
}

const Var* Protector::DividedBy(const Op& op, double* divisor) const {
  if (Is(op, OpKind::kAffine) && op.inputs().size() == 1 && op.GetFloat("bias") == 0) {
    *divisor = 1 / std::fabs(op.GetFloat("scale"));
    return &In(op, 0);
  }
  if (op.inputs().size() != 2 || !(Is(op, OpKind::kDivision) || Is(op, OpKind::kProduct))) return nullptr;
  for (int number = 1; number >= (Is(op, OpKind::kProduct) ? 0 : 1); --number) {
    if (!IsFixed(In(op, number)) || In(op, number).type.NumElements() != 1) continue;
    const double factor = FactorOf(In(op, number));
    *divisor = Is(op, OpKind::kProduct) ? 1 / factor : factor;
    return &In(op, 1 - number);
  }
  return nullptr;
}

void Protector::FollowMeanProducts(const Op& op) {
  if (low_ != DType::kF16) return;
  double divisor = 0;
  const Var* var = DividedBy(op, &divisor);
  if (var == nullptr || !(divisor >= kLongProduct)) return;
  std::vector<const Op*> kept = MakersOf(*var);
  const std::optional<int64_t> terms = kept.empty() ? std::nullopt : TermsOfProduct(*kept.back());
  if (!terms.has_value() || (IsKnown(*terms) && static_cast<double>(*terms) < divisor / 2)) return;
  kept.push_back(&op);
  for (const Op* each : kept) Because(*each, absl::StrCat("protect.sum: a product that is divided by ", divisor, " may be beyond the range of ", Name(low_)));
}

bool Protector::IsSquareOfSums(const Op& op) const {
  if (op.outputs().empty() || !op.outputs()[0]->type.IsFloat()) return false;
  const bool product = Is(op, OpKind::kProduct) && op.inputs().size() == 2 && &In(op, 0) == &In(op, 1);
  const int out = op.outputs()[0]->id();
  return (product || Is(op, OpKind::kPower)) && uses_[out] > 0 && uses_[out] == summed_[out];
}

// x * x that only reductions read: one x of 256 is enough to overflow f16, and small ones vanish. Means of them stay wide until a root.
void Protector::FollowStatistics(const Op& op) {
  if (IsSquareOfSums(op)) {
    Because(op, kStatistics);
    Set(op, kSquare);
  } else if (Is(op, OpKind::kSum) && Reads(op, kSquare)) {
    Because(op, kStatistics);
    Set(op, kStatistic);
  } else if (Reads(op, kStatistic) && ClassOf(op) != AmpClass::kAllow) {
    Because(op, "protect.statistics: reads a mean or sum of squares");
    bool scaled = op.inputs().size() == 2;
    for (const Var* var : op.inputs()) scaled = scaled && (Has(*var, kStatistic) || IsFixed(*var));
    const bool bounded = Is(op, OpKind::kBounded) && !Is(op, OpKind::kSelection);
    if (Is(op, OpKind::kRoot) || bounded || (Is(op, OpKind::kSteepAtZero) && !scaled)) return;
    if (Is(op, OpKind::kProduct) && !scaled) return;
    Set(op, kStatistic);
    if (Is(op, OpKind::kAdditive)) KeepOtherMoments(op);
  }
}

void Protector::KeepOtherMoments(const Op& op) {
  std::vector<const Op*> moments;
  std::vector<const Var*> todo;
  for (const Var* var : op.inputs()) {
    if (!Has(*var, kStatistic)) todo.push_back(&roots_.Root(*var));
  }
  while (!todo.empty()) {
    const Var& var = *todo.back();
    todo.pop_back();
    if (IsFixed(var)) continue;
    const Op* definer = definers_[var.id()];
    if (definer == nullptr || moments.size() >= kMostMoments) return;
    if (Is(*definer, OpKind::kSum)) {
      moments.push_back(definer);
      continue;
    }
    const bool arithmetic = Is(*definer, OpKind::kProduct) || Is(*definer, OpKind::kPower) || Is(*definer, OpKind::kAdditive);
    if (!arithmetic && ClassOf(*definer) != AmpClass::kClear) return;
    moments.push_back(definer);
    for (const Var* operand : definer->inputs()) {
      if (operand->type.IsFloat()) todo.push_back(&roots_.Root(*operand));
    }
  }
  for (const Op* moment : moments) Because(*moment, "protect.statistics: compared with a mean or sum of squares");
}

}  // namespace ampc
