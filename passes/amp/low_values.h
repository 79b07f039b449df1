// What a constant loses in a low type.
#pragma once

#include <optional>

#include "graph/base/host_tensor.h"
#include "graph/op.h"

namespace ampc {

enum class Loss : uint8_t {
  kNone,
  kOverflows,  // a finite value becomes infinite
  kVanishes,   // a value that is not zero becomes zero
};

struct LostValue {
  Loss loss = Loss::kNone;
  double value = 0;  // the first one lost
};

LostValue LossOf(double value, DType low);
// Of a literal: overflow of any element; vanishing only where the literal is one number, as an epsilon is.
LostValue LossOf(const HostTensor& literal, DType low);
// Of the number that an op such as fill_constant makes every element of; none for another op.
LostValue LossOfCreated(const Op& op, DType low);

}  // namespace ampc
