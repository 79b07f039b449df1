// Questions about the types of an op's values, which decide what may become of it.
#pragma once

#include "graph/program.h"
#include "passes/amp/decide/cast_roots.h"

namespace ampc {

bool HasFloatResult(const Op& op);
// An operand that is to follow the op into `low` and whose type nothing tells: no cast can be put in front of it. Null for none.
const Var* UnknownOperand(const Op& op, DType low);
// It writes a float param or state, which has to keep its type.
bool OverwritesFloatState(const Op& op);
// The operand is there for the bodies, whose ops read it.
bool ListsForBodies(const Op& op, int flat);
// A cast from f32 to f32 of the program's own into a temp; types are those before a conversion.
bool IsIdentityCast(const Op& op, const CastRoots& roots);

}  // namespace ampc
