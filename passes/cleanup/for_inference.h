// for-inference: takes the training out of a program.
//
//   h = dropout(x, seed) -> Out, Mask      ->     h = dropout(x) is_test=true
//   seed <- increment(seed)                       seed <- increment(seed)
//   w@GRAD = matmul_v2(..) op_role=1
//   w <- sgd(w, w@GRAD, rate) op_role=2
//
// Ops whose role is the backward part, the optimizer or the learning rate go. The others run as in a test: is_test where the op has it,
// without the operands that only training reads, and without optional results that overwrite state or that nothing reads. Params are not
// trainable. Values that nothing needs any more are left to prune. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

// Returns whether anything changed.
bool MakeForInference(Program& program);

PassInfo ForInferencePass();

}  // namespace ampc
