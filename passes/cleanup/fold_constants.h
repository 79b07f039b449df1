// fold-constants: replaces results that need no input by literals.
//
//   const a : f32 [2] = [1, 2]
//   s = shape(x) : i32 [2]              ->     const s : i32 [2] = [4, 8]
//   b = scale(a) scale=2.0 : f32 [2]           const b : f32 [2] = [2, 4]
//
// The shape of a value with known dims is known without computing; everything else goes through ctx.evaluator, and stays
// where that has no kernel. Results above `max_bytes` (default 16 MiB) stay. Impure ops, control flow and fetched results stay.
// O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo FoldConstantsPass();

}  // namespace ampc
