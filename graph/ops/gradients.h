// Records of gradient ops, made from the records of the ops that they differentiate.
#pragma once

#include "absl/strings/string_view.h"
#include "graph/op_def.h"

namespace ampc::ops {

// The op that a record's `gradient` names. Attributes may follow if it is no gradient op of its own: "concat axis" has the forward op's,
// "scale scale=0" a number, "cast in_dtype=Out.dtype out_dtype=X.dtype" the types of the first result and of the operand.
absl::string_view GradientOpName(const OpDef& forward);

// The record of which `gradient_op` is the gradient op; null for any other name.
const OpDef* ForwardOf(absl::string_view gradient_op);

// `needs` names the slot with `?`.
bool IsReadIfThere(const GradientSlots& slots, absl::string_view slot);

// The record of the gradient op of `forward`, which has gradient_slots: attributes of `forward`. Inference gives a gradient the type of its
// operand.
OpDef GradientOf(const OpDef& forward);

}  // namespace ampc::ops
