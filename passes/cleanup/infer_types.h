// infer-types: fills the types that an importer left open, and `verify`, which only checks.
//
//   h = relu(x)            h = relu(x) : f32 [4, 8]
//
// A result whose element type, rank or dimension is not known takes what inference says; what is known stays, and must agree.
// Shape tensors computed from constants are not evaluated here. Error: where inference fails or disagrees. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo InferTypesPass();
PassInfo VerifyPass();

}  // namespace ampc
