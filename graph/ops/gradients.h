// Records of gradient ops, made from the records of the ops that they differentiate.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/op_def.h"

namespace ampc::ops {

// Which values a gradient op reads and gives, by the slots of its forward op; several names are separated by blanks.
struct GradientRow {
  const char* forward;  // the forward op; the gradient op is named <forward>_grad
  // Operands and results of the forward op that are read. An optional result that the forward op lacks is added to it by append-backward, but not
  // where the name ends in `?`: that is read where the forward op has it. A gradient op made by others may do without either.
  const char* needs;
  const char* of;       // results whose gradient is read, as slot `<result>@GRAD`
  const char* gives;    // operands whose gradient is computed, as slot `<operand>@GRAD`; each is optional
  // The slot whose type the gradient of an operand has that is not read itself; without it what XShape remembers, else the first of `of`.
  const char* like = "";
  InferFn infer = nullptr;  // instead of those rules
};

// The table: Paddle's gradient ops with Paddle's slots, sorted by forward op.
absl::Span<const GradientRow> GradientRows();

// The row of a gradient op; null for any other name.
const GradientRow* FindGradientRow(absl::string_view gradient_op);

// The row names the slot with `?`.
bool IsReadIfThere(const GradientRow& row, absl::string_view slot);

// The record: slots by the row, attributes of `forward`. Inference gives a gradient the type of its operand.
OpDef GradientOf(const OpDef& forward, const GradientRow& row);

}  // namespace ampc::ops
