// Protector: the rules of protect, one sweep forward and then backwards. Internal to protect; its parts are protect.cc (the sweep, constants
// and ranges), protect_sums.cc (powers, sums and statistics) and protect_backward.cc (indexes and logarithms).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/program.h"
#include "passes/amp/cast_roots.h"
#include "passes/amp/low_values.h"
#include "passes/amp/value_bounds.h"
#include "passes/analysis/op_kinds.h"

namespace ampc {

class Protector {
 public:
  Protector(DType low, Program& program);
  // Once. Whether anything was marked.
  bool Run();

 private:
  enum Flag : uint8_t {
    kConstant = 1 << 0,   // made from shapes and integer constants alone
    kLarge = 1 << 1,      // beyond the range: a constant or a power made it so
    kSmall = 1 << 2,      // a constant that the low type lacks keeps it from zero
    kExact = 1 << 3,      // becomes an index, a shape or a loop count
    kSquare = 1 << 4,     // a square that is only averaged or summed
    kStatistic = 1 << 5,  // a mean or sum of squares, or made from one
    kSummed = 1 << 6,     // a sum that may be beyond the range
    kScale = 1 << 7,      // becomes the scale or the zero point of a quantisation
  };
  static constexpr uint8_t kCrossesBlocks = kLarge | kSmall | kStatistic | kSummed;
  // A value as a product of powers of one other: x * (2 * x) has base x and degree 2.
  struct Power {
    int base = -1;  // Var::id
    int degree = 1;
  };

  bool Is(const Op& op, OpKind kind) const { return (kinds_[op.id()] & static_cast<uint32_t>(kind)) != 0; }
  const Var& In(const Op& op, int flat) const { return roots_.Root(*op.inputs()[flat]); }
  bool Has(const Var& var, uint8_t flags) const { return (flags_[roots_.Root(var).id()] & flags) != 0; }
  bool Reads(const Op& op, uint8_t flags) const;
  void Set(const Op& op, uint8_t flags);  // on its results
  // The op stays fp32 for `reason`, if it could become low and no reason came before.
  void Because(const Op& op, std::string reason);
  bool InRange(const Var& var) const;  // for sure
  bool IsFixed(const Var& var) const;  // stored, or made from constants alone

  // protect.cc
  void CountUses();
  void ForwardBlock(const Block& block);
  // What the outputs of a subgraph are goes for the results of its op, and what the op starts it with for its inputs.
  void EnterBlock(const Op& op, const Block& block);
  void LeaveBlock(const Op& op, const Block& block);
  void Forward(const Op& op);
  bool FromConstants(const Op& op) const;
  // x - max(x), which may be small where x is not.
  bool IsDistanceFromExtremum(const Op& op) const;
  void ReadConstants(const Op& op);
  void FollowRange(const Op& op);
  void CheckBounds(const Op& op);
  void CheckBatchNorm(const Op& op);
  bool Mark();

  // protect_sums.cc
  void FollowPowers(const Op& op);
  void FollowSums(const Op& op);
  void FollowStatistics(const Op& op);
  bool IsSquareOfSums(const Op& op) const;
  // What an fp32 statistic is compared with: mean squares and squared means, back to the sums.
  void KeepOtherMoments(const Op& op);

  // protect_backward.cc
  // Backwards from shapes, indexes and loop conditions to what computes them, as far as products and reductions. The same from scales and zero
  // points of quantisations, which stops at the largest and smallest value, too.
  void ProtectIndexes();
  void NeedHostValues(const Op& op);
  // A logarithm of small values (a power spectrum) needs all that leads to it, as far as what brings values to a size of their own, where
  // that is the smaller part of the work.
  void ProtectLogs();
  // An ONNX model's probabilities that are only fetched, or moved and fetched: a cast behind them or in front costs the same.
  void ProtectProbabilities();

  DType low_;
  double largest_;  // finite value of the low type
  Program& program_;
  CastRoots roots_;
  ValueBounds bounds_;
  std::vector<uint32_t> kinds_;      // by Op::id: passes/analysis/op_kinds.h
  std::vector<LostValue> lost_;      // by Var::id
  std::vector<uint8_t> flags_;       // by Var::id
  std::vector<Power> powers_;        // by Var::id
  std::vector<const Op*> definers_;  // by Var::id, null for what no op of the sweep so far defines
  std::vector<int> uses_, summed_;   // by Var::id: readers, and those that add up or average
  std::vector<const Op*> logs_;      // of what may be small
  absl::flat_hash_map<int, std::string> reasons_;  // by Op::id: few have one
};

}  // namespace ampc
