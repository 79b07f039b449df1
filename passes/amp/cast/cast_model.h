// cast-model-to-fp16: materialises the decision of amp-decide; holds no policy.
//
//   h = matmul_v2(x, w) : f32 [4, 8]              x.f16 = cast(x) .. !amp=inserted : f16 [4, 8]
//   p = softmax(h) axis=-1 : f32 [4, 8]    ->     w.f16 = cast(w) .. !amp=inserted : f16 [8, 8]
//                                                 h = matmul_v2(x.f16, w.f16) !was=f32 : f16 [4, 8]
//                                                 h.f32 = cast(h) .. !amp=inserted : f32 [4, 8]
//                                                 p = softmax(h.f32) axis=-1 : f32 [4, 8]
//
// One cast per (value, type, block), before its first reader; a value that is written again is cast again. Results of low
// ops change type in place and remember it (Var::was), as do data type attributes (marks.was). A value that must keep its
// type (fetches) keeps its name, too: the op then defines `<name>.f16`, and a cast defines or overwrites `<name>`.
// Bodies of control flow are included. Needs a decision; running it twice changes nothing. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo CastModelPass();

}  // namespace ampc
