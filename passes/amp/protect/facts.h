// Facts: what is known of the values of a program, forwards from its feeds, weights and constants. Internal to protect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/weight.h"
#include "passes/amp/protect/fact.h"
#include "passes/amp/protect/mask_constants.h"
#include "passes/amp/protect/op_class.h"
#include "passes/amp/protect/weighted_bounds.h"
#include "passes/analysis/dataflow.h"
#include "passes/analysis/forward_facts.h"

namespace ampc {

class Marks;
struct RuleStep;

class Facts {
 public:
  // `on_tiny`: what happens to small weights. `ranges`: of feeds. `measured`: of any values. `masks`: constants that are stored as others.
  // The program is not changed while this lives.
  Facts(const Program& program, DType low, OnTiny on_tiny, const InputRanges& ranges = {}, const InputRanges& measured = {},
        const MaskConstants& masks = {});
  // Once, before anything is asked. The marks and steps of the forward rules go to `marks` and `steps`, where these are not null.
  // Returns whether the rules saw every op once and with all that there is to know of its operands.
  bool Find(Marks* marks, std::vector<RuleStep>* steps);

  DType low() const { return low_; }
  OnTiny on_tiny() const { return on_tiny_; }
  double largest() const { return largest_; }    // finite value of the low type
  double smallest() const { return smallest_; }  // normal value
  const ValueFlow& flow() const { return flow_; }
  const Fact& Of(const Var& var) const { return forward_.Of(var); }
  const Var& In(const Op& op, int flat) const { return flow_.Root(*op.inputs()[flat]); }
  bool Reads(const Op& op, uint16_t traits) const;
  bool InRange(const Bounds& bounds) const { return bounds.Magnitude() <= largest_; }  // for sure
  // For every input, within the ranges of feeds that were given, and whichever ops are low.
  enum class Verdict : uint8_t { kUnknown, kSafe, kLeaves };
  Verdict VerdictOf(const Var& var) const;
  bool IsFixed(const Var& var) const;  // stored, or made from constants alone
  bool IsFetched(const Var& var) const { return fetched_[flow_.Root(var).id()]; }
  // Of one element, in the main block, and nothing larger is made of it.
  bool IsNumber(const Var& var) const { return numbers_[var.id()]; }
  bool MayRound() const { return may_round_; }  // an op rounds to whole numbers, or casts
  // Its result is its operands moved, added, scaled or compared: what they lose, it has lost.
  bool PropagatesLoss(const Op& op) const;
  // The op that defines it, and what defines what that moves, and so on.
  std::vector<const Op*> MakersOf(const Var& var) const;
  bool IsDistanceFromExtremum(const Op& op) const;  // x - max(x), which may be small where x is not
  // The magnitude of a stored value as a factor, as far as it is known; 1 for what is not.
  double FactorOf(const Var& var) const;
  Loss LossOfStored(const Var& var) const { return lost_[var.id()].loss; }  // before anything is found
  // The same of its smallest element that is not zero, where that is known; 0 where all are zero.
  double LeastFactorOf(const Var& var) const;
  // Those that enter its data.
  const std::vector<const AttrDef*>& AttributesOf(const Op& op) const;
  // One of its operands may be an index, a shape, a condition or a scale.
  bool AsksForExact(const Op& op) const { return asks_[op.id()]; }
  // Of the tensor of which it is a piece, else its own.
  int OriginOf(const Var& var) const;

  // Asks the forward rules; their marks and what they find go to `marks` and `steps`, where these are not null.
  void Transfer(const Op& op, Fact* results, Marks* marks, std::vector<RuleStep>* steps);

  // For ForwardFacts.

  Fact Initial(const Var& var) const;
  void Transfer(const Op& op, Fact* results) { Transfer(op, results, marks_, steps_); }
  static Fact Across(const Fact& fact);
  static Fact Join(const Fact& a, const Fact& b);
  static Fact Widen(const Fact& old, const Fact& now);

 private:
  void FindNumbers();
  // Bounds, and whether they are worst cases; of the first result alone, or of all.
  Fact FindBounds(const Op& op, bool* first_only);
  // The same, by what is known of the operands: a member of Fact.
  Bounds FindBounds(const Op& op, Bounds Fact::*known, WeightedBounds& weighted, bool* first_only);
  Bounds MeasuredOf(const Var& var) const;
  // Finds the facts that no rule gives.
  void FindResults(const Op& op, Fact* results);

  const DType low_;
  const OnTiny on_tiny_;
  const double largest_, smallest_;
  const ValueFlow flow_;
  WeightedBounds weighted_, weighted_measured_;
  const InputRanges measured_;
  absl::flat_hash_map<int, Bounds> masks_;  // by Var::id
  std::vector<bool> asks_;                  // by Op::id
  absl::flat_hash_map<int, Bounds> fed_;    // by Var::id of feeds
  bool may_round_ = false;
  std::vector<LostValue> lost_;          // of stored values, by Var::id
  std::vector<bool> fetched_, numbers_;  // by Var::id
  mutable absl::flat_hash_map<const OpDef*, std::vector<const AttrDef*>> attributes_;
  ForwardFacts<Fact, Facts> forward_;
  Marks* marks_ = nullptr;  // while facts are found
  std::vector<RuleStep>* steps_ = nullptr;
};

// How many products each element of a matrix product adds up, kUnknownDim where types do not say; nothing for other ops.
std::optional<int64_t> TermsOfProduct(const Op& op);
// A matrix product or a convolution of a network's values, not of positions and frequencies.
bool IsNetworkProduct(const Op& op);
// An op that only moves its operand: no arithmetic.
bool MovesValues(const Op& op);
// How many of the operands are floats.
int NumFloats(const Op& op);
// "[0, 1], large, at least 1e-12"; "" where nothing is known.
std::string FactText(const Facts& facts, const Var& var);
// "proven in the range of f16: [-19.6, 19.6] at worst", or "measured in the range of f16: [-40, 40]"; "" where neither that nor the
// opposite is known.
std::string ProofText(const Facts& facts, const Var& var);
// Of that the bounds and what constants say of its size.
std::string SizeText(const Fact& fact);

}  // namespace ampc
