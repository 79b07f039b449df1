// Records of gradient ops, made from the records of the ops that they differentiate.
#pragma once

#include "absl/types/span.h"
#include "graph/op_def.h"

namespace ampc::ops {

// Which values a gradient op reads and gives, by the slots of its forward op; several names are separated by blanks.
struct GradientRow {
  const char* forward;  // the forward op, whose record's `gradient` names the gradient op
  const char* needs;    // operands and results of the forward op that are read
  const char* of;       // results whose gradient is read, as slot `<result>@GRAD`
  const char* gives;    // operands whose gradient is computed, as slot `<operand>@GRAD`; each is optional
};

// The table: Paddle's gradient ops with Paddle's slots, sorted by forward op.
absl::Span<const GradientRow> GradientRows();

// The record: slots by the row, attributes of `forward`. Inference gives a gradient the type of its operand.
OpDef GradientOf(const OpDef& forward, const GradientRow& row);

}  // namespace ampc::ops
