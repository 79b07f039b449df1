// What a constant loses in a low type.
#pragma once

#include <optional>

#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "graph/op.h"

namespace ampc {

enum class Loss : uint8_t {
  kNone,
  kOverflows,  // a finite value becomes infinite
  kVanishes,   // a value that is not zero becomes zero
  kImprecise,  // below the smallest normal value, and rounded more than values above it are
};

struct LostValue {
  Loss loss = Loss::kNone;
  double value = 0;  // the first one lost
};

// The value after rounding to `low`.
double Rounded(double value, DType low);

LostValue LossOf(double value, DType low);
// Of many values: overflow of any; vanishing or imprecise only where it is one number, as an epsilon is.
LostValue LossOf(const HostTensor& literal, DType low);
LostValue LossOf(absl::Span<const float> values, DType low);
// Of the number that an op such as fill_constant or ConstantOfShape makes every element of; none for another op.
LostValue LossOfCreated(const Op& op, DType low);

}  // namespace ampc
