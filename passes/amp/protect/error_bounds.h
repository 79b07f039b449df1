// ErrorBounds: how far the values of a mixed program are from those of its fp32 program at most.
//
//   y = matmul_v2(x, w)   half a unit of x and of w, times the other; the sum's, rounded once more
//   z = tanh(y)           the error of y, which tanh does not make larger, and one rounding
//
// Each value counts as rounded to the low type once, as weights and feeds do: that covers every decision. An op hands errors on by how
// steep it is over the proven bounds of its operands, in which the values of both programs lie. There is no bound of the error of a value
// without such bounds, of one beyond the range or from across a border, nor of what a comparison of rounded values decides.
#pragma once

#include <string>
#include <vector>

#include "passes/amp/protect/facts.h"
#include "passes/amp/protect/stored_sums.h"

namespace ampc {

class ErrorBounds {
 public:
  // Of facts that were found, which outlive this. O(program).
  explicit ErrorBounds(const Facts& facts);

  // Infinite where none is known.
  double Of(const Var& var) const { return errors_[facts_.flow().Root(var).id()]; }

 private:
  double Propagated(const Op& op);
  double OfProduct(const Op& op);
  double Largest(const Op& op) const;  // of the operands' errors
  double Reach(const Var& var) const { return facts_.Of(var).bounds.Magnitude(); }
  // One rounding of a value as large as that.
  double Rounding(double magnitude) const { return unit_ * magnitude + least_; }
  double WeightRounding(double magnitude) const { return unit_ * magnitude + least_weight_; }

  const Facts& facts_;
  const double unit_, least_, least_weight_;
  StoredSums sums_;
  std::vector<double> errors_;  // by Var::id of roots
};

// "within 0.0021 of fp32"; "" where no bound is known.
std::string ErrorText(const ErrorBounds& errors, const Var& var);

}  // namespace ampc
