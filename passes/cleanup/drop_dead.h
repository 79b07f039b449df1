// drop-dead: removes ops without effect whose results nothing reads, and values that nothing mentions.
//
//   a = relu(x)             b = tanh(x)
//   b = tanh(x)      ->     fetch b
//   fetch b
//
// Control flow, impure ops and ops that overwrite state stay; so do feeds, params and states. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo DropDeadPass();

}  // namespace ampc
