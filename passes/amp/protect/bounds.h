// Between which numbers a value lies, where that follows from the program: from literals, from functions with a bounded range and from
// arithmetic on those.
#pragma once

#include "absl/functional/function_ref.h"
#include "graph/op.h"

namespace ampc {

// By the op's record; `of` gives the bounds of an operand.
Bounds BoundsOfResults(const Op& op, absl::FunctionRef<const Bounds&(const Var&)> of);
// Of a literal.
Bounds BoundsOfStored(const Var& var);

}  // namespace ampc
