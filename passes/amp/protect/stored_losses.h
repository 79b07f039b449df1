// The losses in a low type of the values that travel with a program: literals, and weights as far as they are looked at.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "graph/program.h"
#include "passes/amp/decide/cast_roots.h"
#include "passes/amp/protect/low_values.h"
#include "passes/amp/protect/thresholds.h"

namespace ampc {

// By Var::id. A value beyond the range in a weight that only convolutions and matrix products read is no loss here: what becomes of it says
// the option on_overflow. A weight whose values are small is lost where most of it is after what `on_tiny` does to them. Values are those
// before any conversion. O(program + bytes of the weights that other ops read, or that are small).
std::vector<LostValue> LossesOfStored(const Program& program, const CastRoots& roots, DType low, OnTiny on_tiny);

// The value of a stored variable as it was before any conversion, where that travels with it; empty for no floats, and for
// more than `most`.
std::vector<float> OriginalFloats(const Var& var, int64_t most = kMostVectorElements);

// How many f32 values of a variable are stored as they were before any conversion; 0 for none.
int64_t StoredElements(const Var& var);
// Calls see(window) for them, in order; a large weight is not kept in memory.
void ForEachStored(const Var& var, absl::FunctionRef<void(absl::Span<const float>)> see);

}  // namespace ampc
