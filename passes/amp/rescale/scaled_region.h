// ScaledRegion: one weight and all that has to be multiplied with it so that what comes behind stays the same.
//
//   c = conv2d(x, w)                       w * 2^k: so is c
//   a = elementwise_add(c, b)              b * 2^k: a term
//   r = relu(a)                            commutes
//   y = batch_norm(r, scale, bias, mean)   mean * 2^k, scale * 2^-k: y is what it was
//
// Powers of two commute exactly with convolutions, products, sums, rectifiers, means, extremes and moves. A region ends at a batch norm
// with fixed statistics, at a stored factor or divisor, and at the weights of a further convolution or product.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/program.h"
#include "passes/analysis/use_def.h"

namespace ampc {

// A stored value of a region.
struct ScaledValue {
  Var* var = nullptr;
  int sign = 1;      // of its exponent, beside the weight's
  bool term = true;  // only added to values of the region: what is small beside them does not show
  bool low = false;  // may be stored low
  int operands = 0;  // of ops of the region
};

// Whether a product or convolution, without a function of its own, reads `var` as a weight or a factor.
bool ReadsAsWeight(const Op& op, const Var& var);

class ScaledRegion {
 public:
  // `position`, by Op::id, is the place of an op in the main block.
  ScaledRegion(const UseDef& uses, const std::vector<int>& position) : uses_(uses), position_(position) {}

  // Whether there is one, of a stored value of the main block. O(ops of the region * log).
  bool Grow(Var& weight);
  // In the order in which they were found; the first is the weight.
  const std::vector<ScaledValue>& values() const { return values_; }
  // The reason that there is none.
  const std::string& why() const { return why_; }

 private:
  bool Visit(const Op& op);
  bool VisitLinear(const Op& op);
  bool VisitBatchNorm(const Op& op);
  bool VisitQuotient(const Op& op, bool product);
  bool VisitTerms(const Op& op);
  bool Stop(const Op& op);
  bool Has(const Var& var) const { return scaled_.contains(var.id()); }
  bool Joins(const Op& op);
  bool Need(const Op& op, int flat, int sign, bool term);
  bool Follow(const Var& var);

  const UseDef& uses_;
  const std::vector<int>& position_;
  absl::flat_hash_set<int> scaled_;         // Var::id, of temps
  absl::flat_hash_map<int, size_t> index_;  // by Var::id, of stored values
  std::map<int, const Op*> ahead_;          // by position
  std::vector<ScaledValue> values_;
  std::string why_;
};

}  // namespace ampc
