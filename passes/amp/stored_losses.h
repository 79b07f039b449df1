// What the values that travel with a program lose in a low type: literals, and weights as far as they are looked at.
#pragma once

#include <vector>

#include "graph/program.h"
#include "passes/amp/cast_roots.h"
#include "passes/amp/low_values.h"

namespace ampc {

// By Var::id. A weight that only convolutions and matrix products read is not looked at: what happens to its values says the option
// on_overflow. Values are those before any conversion. O(program + bytes of the weights looked at).
std::vector<LostValue> LossesOfStored(const Program& program, const CastRoots& roots, DType low);

// The value of a stored variable as it was before any conversion, where that travels with it; empty for no floats, and for more than `most`.
std::vector<float> OriginalFloats(const Var& var, int64_t most);

}  // namespace ampc
