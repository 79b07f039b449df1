// Visit: an op under the rules of protect, with what is known of its operands. Internal to protect.
#pragma once

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "passes/amp/protect/facts.h"
#include "passes/amp/protect/rules.h"

namespace ampc {

// Which rules mark which ops.
class Marks {
 public:
  struct Mark {
    int rule;  // index of its row
    std::string text;
  };
  // `rules`: bits, by index of the row.
  Marks(int num_ops, uint32_t rules) : rules_(rules), first_(num_ops, kNone) {}
  // The op stays fp32, if it is and could become low, and no earlier row says so. `text` is called where that is so.
  template <typename Text>
  void Add(const Op& op, int rule, const Text& text) {
    if ((rules_ >> rule & 1) == 0 || rule >= first_[op.id()] || !MayBecomeLow(op) || !HasF32(op.outputs())) return;
    first_[op.id()] = static_cast<uint8_t>(rule);
    marks_.insert_or_assign(op.id(), Mark{rule, text()});
  }
  const Mark* Find(const Op& op) const {
    const auto it = marks_.find(op.id());
    return it == marks_.end() ? nullptr : &it->second;
  }

 private:
  static constexpr uint8_t kNone = 255;
  uint32_t rules_;
  std::vector<uint8_t> first_;            // by Op::id: the row that marks it, kNone for none
  absl::flat_hash_map<int, Mark> marks_;  // by Op::id: few have one
};

// The common part of the two directions.
class RuleVisit {
 public:
  RuleVisit(const Facts& facts, const Op& op, Marks* marks) : facts(facts), op(op), marks_(marks) {}

  const Facts& facts;
  const Op& op;
  int rule = 0;  // index of the row that is asked

  bool Is(OpTrait trait) const { return op.HasTrait(trait); }
  const Var& In(int flat) const { return facts.In(op, flat); }
  bool Has(const Var& var, uint16_t traits) const { return facts.Of(var).Has(traits); }
  bool Reads(uint16_t traits) const { return facts.Reads(op, traits); }
  void Mark() const { MarkOther(op); }
  template <typename Text>
  void Mark(const Text& text) const {
    MarkOther(op, text);
  }
  // Another op, before this one, because of it.
  void MarkOther(const Op& other) const {
    MarkOther(other, [this] { return std::string(ProtectRules()[rule].reason); });
  }
  template <typename Text>
  void MarkOther(const Op& other, const Text& text) const {
    if (marks_ != nullptr) marks_->Add(other, rule, text);
  }

 private:
  Marks* marks_;  // null while facts are looked for
};

class Visit : public RuleVisit {
 public:
  // `results`: of the op, in order, to be filled.
  Visit(const Facts& facts, const Op& op, Fact* results, Marks* marks) : RuleVisit(facts, op, marks), results_(results) {}

  Fact& result(int i) { return results_[i]; }
  int num_results() const { return static_cast<int>(op.outputs().size()); }
  void Give(uint16_t traits) {
    for (int i = 0; i < num_results(); ++i) results_[i].traits |= traits;
  }
  bool HasFloatResult() const { return !op.outputs().empty() && op.outputs()[0]->type.IsFloat(); }
  bool ResultInRange() const { return facts.InRange(results_[0].bounds); }
  // However large its operand, the result is in range.
  bool TakesLargeAway() const { return Is(OpTrait::kNormalized) || (Is(OpTrait::kBounded) && ResultInRange()); }
  // The first one stays.
  void SetSizeHint(Fact::SizeHint::Kind kind, double size);
  // Of the operands; a reciprocal counts most, because it becomes infinite.
  Fact::SizeHint FindSizeHint() const;

 private:
  Fact* results_;
};

class BackwardVisit : public RuleVisit {
 public:
  // `wanted`: bits of the rule that the op's results have. Bit 0: they are wanted.
  BackwardVisit(const Facts& facts, const Op& op, uint32_t wanted, Marks* marks, absl::FunctionRef<void(const Var&, uint32_t)> add)
      : RuleVisit(facts, op, marks), wanted(wanted), add_(add) {}

  uint32_t wanted;
  void Want(const Var& var, uint32_t bits = 1) const { add_(var, bits); }
  void WantOperands(uint32_t bits = 1) const {
    for (const Var* var : op.inputs()) Want(*var, bits);
  }

 private:
  absl::FunctionRef<void(const Var&, uint32_t)> add_;
};

// A rule has so many bits in backward sets.
inline constexpr int kBackwardBits = 3;

// The forward rows, by the folder's files.
Effect ShapeRule(Visit& v);
Effect ConstantRule(Visit& v);
Effect RangeRule(Visit& v);
Effect EpsRule(Visit& v);
Effect ReciprocalRule(Visit& v);
Effect ScaledRule(Visit& v);
Effect PowerRule(Visit& v);
Effect SumRule(Visit& v);
Effect StatisticsRule(Visit& v);
Effect MomentRule(Visit& v);
Effect LossRule(Visit& v);
Effect AreaRule(Visit& v);
Effect DifferenceRule(Visit& v);
Effect OverflowRule(Visit& v);
Effect BoundsCheckRule(Visit& v);
Effect CountRule(Visit& v);
Effect DivisorRule(Visit& v);
Effect DistanceRule(Visit& v);
// The backward rows.
Effect IndexRule(BackwardVisit& v);
Effect ScaleRule(BackwardVisit& v);
Effect LogRule(BackwardVisit& v);
Effect AngleRule(BackwardVisit& v);
Effect CoordinateRule(BackwardVisit& v);
Effect ResultRule(BackwardVisit& v);
// Bits of LogRule.
enum LogWay : uint32_t {
  kLeadsToLog = 1 << 0,
  kDirectToLog = 1 << 1,  // no function of a network lies between
  kBehindProduct = 1 << 2,
};
// The cycle.
void MarkStates(const Facts& facts, int rule, Marks* marks);

}  // namespace ampc
