// Between which numbers a value lies, where that follows from the program: from literals, from functions with a bounded range and from
// arithmetic on those.
#pragma once

#include <limits>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "graph/op.h"

namespace ampc {

struct Bounds {  // inclusive; infinite where nothing is known
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  // The largest magnitude that the value can have; infinite where one side is open.
  double Magnitude() const;
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

Bounds Union(const Bounds& a, const Bounds& b);

// The bounds of an op's results from those of the operands that compute, in order: what only says where or how is left out.
using BoundsRule = Bounds (*)(const Op& op, const absl::InlinedVector<Bounds, 4>& in);

// Null for a record of which nothing is known.
BoundsRule BoundsRuleOf(const OpDef& def);
// `of` gives the bounds of an operand.
Bounds BoundsOfResults(BoundsRule rule, const Op& op, absl::FunctionRef<const Bounds&(const Var&)> of);
// Of a literal.
Bounds BoundsOfStored(const Var& var);

}  // namespace ampc
