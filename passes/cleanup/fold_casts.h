// fold-casts: removes casts that cannot change a value.
//
//   f16 -> f32 -> f16     both go
//   f16 -> f32 -> i32     one cast f16 -> i32
//   f32 -> f16 -> f32     kept: the first one rounds
//
// Keeps fetched values. Casts that nothing reads any more go as well. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo FoldCastsPass();
// Every value of type `from` is a value of type `to`.
bool ConvertsExactly(DType from, DType to);

}  // namespace ampc
