// Between which numbers a value lies, where that follows from the program: from literals, from functions with a bounded range and from
// arithmetic on those.
#pragma once

#include <limits>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "graph/program.h"
#include "passes/amp/cast_roots.h"
#include "passes/analysis/per_record.h"

namespace ampc {

struct Bounds {  // inclusive; infinite where nothing is known
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  // The largest magnitude that the value can have; infinite where one side is open.
  double Magnitude() const;
};

// The bounds of an op's results from those of the operands that compute, in order: what only says where or how is left out.
using BoundsRule = Bounds (*)(const Op& op, const absl::InlinedVector<Bounds, 4>& in);

class ValueBounds {
 public:
  // Bounds of the stored values; those of results come with Add.
  ValueBounds(const Program& program, const CastRoots& roots);
  // Computes the bounds of the results of `op`, whose operands were defined before.
  void Add(const Op& op);
  const Bounds& Of(const Var& var) const { return bounds_[roots_.Root(var).id()]; }

 private:
  const CastRoots& roots_;
  PerRecord<BoundsRule> rules_;
  std::vector<Bounds> bounds_;  // by Var::id
};

}  // namespace ampc
