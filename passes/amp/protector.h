// Protector: the rules of protect, one sweep forward and then backwards. Internal to protect; each file has one kind of rules, as said below.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graph/program.h"
#include "graph/weight.h"
#include "passes/amp/cast_roots.h"
#include "passes/amp/data_attributes.h"
#include "passes/amp/low_values.h"
#include "passes/amp/protect_facts.h"
#include "passes/amp/value_bounds.h"
#include "passes/analysis/op_kinds.h"
#include "passes/analysis/per_record.h"

namespace ampc {

class Protector : private ProtectFacts {
 public:
  // `on_tiny`: what happens to small weights.
  Protector(DType low, OnTiny on_tiny, Program& program);
  // Once. Whether anything was marked.
  bool Run();

 private:
  bool Is(const Op& op, OpKind kind) const { return (kinds_[op.id()] & static_cast<uint32_t>(kind)) != 0; }
  const Var& In(const Op& op, int flat) const { return roots_.Root(*op.inputs()[flat]); }
  bool Has(const Var& var, uint16_t flags) const { return (flags_[roots_.Root(var).id()] & flags) != 0; }
  bool Reads(const Op& op, uint16_t flags) const;
  void Set(const Op& op, uint16_t flags);  // on its results
  // The op stays fp32 for `reason`, if it is and could become low, and no reason came before.
  void Because(const Op& op, std::string reason);
  bool InRange(const Var& var) const;  // for sure
  bool IsFixed(const Var& var) const;  // stored, or made from constants alone
  // Its result is its operands moved, added, scaled or compared: what they lose, it has lost.
  bool HandsOn(const Op& op) const;

  // protect.cc: the sweep, and ranges
  void CountUses();
  void ForwardBlock(const Block& block);
  // What the outputs of a subgraph are goes for the results of its op, and what the op starts it with for its inputs.
  void EnterBlock(const Op& op, const Block& block);
  void Cross(const Var& from, const Var& to);
  void LeaveBlock(const Op& op, const Block& block);
  void Forward(const Op& op);
  bool FromConstants(const Op& op) const;
  std::vector<const Op*> MakersOf(const Var& var) const;  // its definer, and what defines what that moves, and so on
  bool IsDistanceFromExtremum(const Op& op) const;  // x - max(x), which may be small where x is not
  void FollowRange(const Op& op);
  void CheckBounds(const Op& op);
  void CheckBatchNorm(const Op& op);
  bool Mark();

  // protect_guards.cc: constants, and what they say of the size of a value
  void ReadConstants(const Op& op);
  void ReadConstant(const Op& op, const LostValue& lost, AttributeUse use);
  // Does it matter for `op` that most of operand `flat`, many small values, is lost?
  bool CountsFor(const Op& op, int flat, const LostValue& lost) const;
  // What keeps a value from zero, and what is divided by it; factors that make a value small, until others take them back.
  void FollowGuards(const Op& op);
  void FollowFloor(const Op& op, double floor);
  void FollowReciprocal(const Op& op, double reach);
  void FollowScaled(const Op& op, const Guard& scaled);
  const Guard* GuardOf(const Var& var) const;
  void SetGuard(const Op& op, Guard::Kind kind, double size);
  // The magnitude of a stored value as a factor, as far as it is known; 1 for what is not.
  double FactorOf(const Var& var) const;
  std::optional<double> ExponentOf(const Op& op) const;
  // How far a result reaches that inverts an operand of at least `floor`; 0 for none that does.
  double ReachOfInverse(const Op& op, double floor) const;
  // The floor of a sum of non-negative values, of a product of such ones, and of what keeps the size of its operand; 0 for none.
  double FloorOfResult(const Op& op, double floor) const;

  // protect_sums.cc: powers, sums and statistics
  void FollowPowers(const Op& op);
  void FollowSums(const Op& op);
  void FollowStatistics(const Op& op);
  void FollowMeanProducts(const Op& op);  // what divides a matrix product by its own length: a covariance, a Gram matrix
  const Var* DividedBy(const Op& op, double* divisor) const;  // the one other operand, null where there is none
  bool IsSquareOfSums(const Op& op) const;
  // What an fp32 statistic is compared with: mean squares and squared means, back to the sums.
  void KeepOtherMoments(const Op& op);

  // protect_areas.cc: products of extents
  void FollowAreas(const Op& op);
  // Var::id of the tensor of which a value is a piece, moved, bounded, scaled, or taken from another piece; its own for what is no piece.
  int OriginOf(const Var& var) const;
  int OriginOfResult(const Op& op) const;  // -1: of none, or of several
  // What feeds are centred by: their own type has the digits that are left.
  void FollowFeeds(const Op& op);
  bool FollowFeed(const Op& op);  // does the op take much of a feed away?
  bool CentresFarFeed(const Op& op) const;

  // protect_backward.cc: indexes and logarithms
  // Backwards from shapes, indexes and loop conditions to what computes them, as far as products and reductions. The same from scales and zero
  // points of quantisations, which stops at the largest and smallest value, too.
  void ProtectIndexes();
  void NeedHostValues(const Op& op);
  // A logarithm of small values (a power spectrum) needs all that leads to it, as far as what brings values to a size of their own. Where that
  // is more than half of the work, as far as the last layer of a network: what is no network, but a transform of its inputs, stays fp32 as a whole.
  void ProtectLogs();
  bool IsTransform(const Op& op) const;  // is it what transforms of signals are made of? all else is a function of a network
  void ProtectProbabilities();  // an ONNX model's that are only moved and fetched: a cast behind them or in front costs the same

  // protect_angles.cc: angles, remainders and places
  void FollowProducts(const Op& op);
  // Angles and what remainders are taken of, back to inputs, integers, values of a size of their own and what products with weights give: these are
  // not exact, and the work is theirs.
  void ProtectAngles();
  void ProtectPlaces();  // where images are read, in units of their size: as far back as angles
  void ProtectSources(std::vector<const Var*> todo, const char* reason);
  // x - floor(x), x - n * round(x / n): appends what lies between, x included.
  bool IsFraction(const Op& op, std::vector<const Var*>* made_from) const;
  const Var* OnlyComputed(const Op& op) const;
  bool LeadsToAngle(const Op& op) const;

  void ProtectTurns();  // protect_turns.cc: what makes a loop's state from the same state by arithmetic alone
  void FollowWholeNumbers(const Op& op);  // protect_whole_numbers.cc: numbers that were integers

  // protect_losses.cc: what reduces a loss, and means over everything of which nothing but such numbers is made
  void FindNumbers();
  void FollowLosses(const Op& op);

  DType low_;
  double largest_, smallest_;  // finite and normal value of the low type
  Program& program_;
  CastRoots roots_;
  ValueBounds bounds_;
  PerRecord<absl::Span<const DataAttribute>> attributes_;
  std::vector<uint32_t> kinds_;      // by Op::id: passes/analysis/op_kinds.h
  bool may_be_whole_ = false;        // an op rounds to whole numbers, or casts
  PerRecord<bool> asks_for_host_values_;
  std::vector<LostValue> lost_;      // by Var::id
  std::vector<uint16_t> flags_;      // by Var::id
  std::vector<Power> powers_;        // by Var::id
  std::vector<int> origins_;         // by Var::id: of pieces, else -1
  std::vector<const Op*> definers_;  // by Var::id, null for what no op of the sweep so far defines
  std::vector<int> uses_, summed_;   // by Var::id: readers, and those that add up or average
  std::vector<const Op*> logs_;      // of what may be small
  std::vector<bool> numbers_;        // by Var::id: of one element, and nothing larger is made of it
  absl::flat_hash_map<int, Guard> guards_;         // by Var::id: few have one
  absl::flat_hash_map<int, std::string> reasons_;  // by Op::id: few have one
};

}  // namespace ampc
