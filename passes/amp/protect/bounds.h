// Between which numbers a value lies, where that follows from the program: from literals, from functions with a bounded range and from
// arithmetic on those.
#pragma once

#include <map>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/op.h"

namespace ampc {

// Declared bounds of feeds, or measured ones of any values, by exported name.
using InputRanges = std::map<std::string, Bounds>;
// From "NAME=LOW:HIGH". A usage error for anything else.
absl::StatusOr<InputRanges> ParseInputRanges(absl::Span<const std::string> items);

// The bounds of an operand.
using BoundsOf = absl::FunctionRef<Bounds(const Var&)>;

// By the op's record.
Bounds BoundsOfResults(const Op& op, BoundsOf of);
// With room for one rounding to `low`: an end that `low` has stays. A small end near zero stays, too: it keeps a value from zero, and the
// rules that look for such values ask for it as it is.
Bounds RoundedOutwards(const Bounds& bounds, DType low);
// The numbers in both; `a` where there are none.
Bounds Intersection(const Bounds& a, const Bounds& b);
// Of a literal.
Bounds BoundsOfStored(const Var& var);

}  // namespace ampc
