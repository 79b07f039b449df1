// The loss of a constant in a low type.
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "graph/op.h"
#include "graph/weight.h"

namespace ampc {

enum class Loss : uint8_t {
  kNone,
  kOverflows,  // a finite value becomes infinite
  kVanishes,   // a value that is not zero becomes zero; of many: most of what they are
  kCoarse,     // more than a 64th of it is rounded away
  kImprecise,  // below the smallest normal value, and rounded more than values above it are
};

struct LostValue {
  Loss loss = Loss::kNone;
  double value = 0;   // the first one lost; of many that are small the one of largest magnitude
  double least = 0;   // of small values of one sign the smallest magnitude, 0 where signs differ
  bool many = false;  // small values, not one number
};

// "1e-12 is 0 in f16"
std::string WhatIsLost(const LostValue& lost, DType low);

// The value after rounding to `low`.
double Rounded(double value, DType low);

LostValue LossOf(double value, DType low);
// Of many values: overflow of any; vanishing or coarse where all of them together are, as ShareLost says; imprecise only where it is one
// number, as an epsilon is.
LostValue LossOf(const HostTensor& literal, DType low, OnTiny on_tiny = OnTiny::kSubnormal);
LostValue LossOf(absl::Span<const float> values, DType low, OnTiny on_tiny = OnTiny::kSubnormal);
// Of the numbers that an op such as fill_constant, assign_value or ConstantOfShape makes; none for another op.
LostValue LossOfCreated(const Op& op, DType low);

// The share that many values lose by being small: the norm of the error beside the norm of the values. Few small ones among others are the
// rounding of any weight.
class ShareLost {
 public:
  ShareLost(DType low, OnTiny on_tiny, uint64_t count);
  // True once the values seen so far are large enough that nothing all of them could lose matters: no need to look further.
  bool Enough(absl::Span<const float> values);
  // Of all values, in any portions, where Enough stayed false.
  void Add(absl::Span<const float> values);
  LostValue Result() const;

 private:
  DType low_;
  OnTiny on_tiny_;
  double enough_;
  double seen_ = 0;  // sums of squares
  double all_ = 0, error_ = 0, zeroed_ = 0;
  double largest_ = 0, least_ = 0;  // magnitudes
  bool positive_ = false, negative_ = false;
};

}  // namespace ampc
