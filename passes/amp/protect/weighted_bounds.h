// WeightedBounds: between which numbers results lie that are made with weights. Products, convolutions and batch norms by the sums of each
// row of their weights, normalisations by the number of elements that they normalise, a mean by the weights of a softmax.
//
// These are worst cases: hardly any input comes near them. A result in range is in range for every input, whichever ops are low.
#pragma once

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "passes/amp/protect/bounds.h"
#include "passes/amp/protect/stored_sums.h"
#include "passes/analysis/dataflow.h"

namespace ampc {

// A product or convolution of `x` with rows of a weight, one for each channel of the result, times `factor`.
struct WeightRows {
  const Var* x;
  const Var* weight;
  RowLayout layout;
  double factor = 1;
  int channel_dim = 0;
};
// nullopt where `op` is none, or does more than that and to add a bias.
std::optional<WeightRows> WeightRowsOf(const Op& op, const ValueFlow& flow);
// Of a product of matrices, in the words of every dialect.
bool TransposesX(const Op& op);
// A weight or constant with stored values that no op writes.
bool IsStoredWeight(const Var& var, const ValueFlow& flow);

class WeightedBounds {
 public:
  // `low`: whose rounding results are wide enough for. `flow` outlives this.
  WeightedBounds(const ValueFlow& flow, DType low);

  // Of the first result; nullopt where `op` is no such op or its operands are not bounded. `of` gives the bounds of an operand, those of
  // weights left out.
  std::optional<Bounds> Of(const Op& op, BoundsOf of);
  // Of all elements of a weight or constant that no op writes; unknown for others.
  Bounds HullOf(const Var& var);

 private:
  // The program in exact arithmetic, but for the rounding of weights.
  std::optional<Bounds> Exact(const Op& op, BoundsOf of);
  bool IsWeight(const Var& var) const { return IsStoredWeight(var, flow_); }
  // With room for what rounding adds: operands, weights and the result are rounded once each, sums in fp32 beside that.
  Bounds Widened(const Bounds& bounds) const;
  std::optional<Bounds> OfProduct(const Op& op, BoundsOf of);
  std::optional<Bounds> OfMean(const Op& op, BoundsOf of);
  std::optional<Bounds> OfConv(const Op& op, BoundsOf of);
  std::optional<Bounds> OfBatchNorm(const Op& op, BoundsOf of);
  std::optional<Bounds> OfNormalized(const Op& op, double elements);
  std::optional<Bounds> OfChannels(const Op& op, BoundsOf of);
  std::optional<Bounds> OfOwnNorm(const Op& op);
  const Var* OwnMeanSquare(const Op& op) const;
  const Var* MeanOfSquares(const Op& root, const Var& x) const;
  // Of x in `x` times each row of `weight`; rows_ has them then.
  std::optional<Bounds> TimesRows(const Bounds& x, const Var& weight, const RowLayout& layout, const Var& result, int channel_dim);
  // rows_ are those of `x`.
  bool FindRows(const Var& x, BoundsOf of);
  std::optional<Bounds> HullOfRows() const;

  const ValueFlow& flow_;
  const double unit_;  // of rounding
  StoredSums sums_;
  // Of the channels of the last result that was made with weights: a bias or a batch norm behind it needs them apart.
  const Var* rows_of_ = nullptr;
  int rows_dim_ = 0;
  std::vector<Bounds> rows_;
};

}  // namespace ampc
