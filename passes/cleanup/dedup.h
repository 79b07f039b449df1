// dedup: computes the same thing once.
//
//   a = relu(x)               a = relu(x)
//   b = relu(x)        ->     c = elementwise_add(a, a)
//   c = elementwise_add(a, b)
//
// Two ops of one block are the same when type, operands (with the same version of what is overwritten), attributes and
// marks are; small constants are the same when their types and bits are. Impure ops, control flow and fetched results stay. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo DedupPass();

}  // namespace ampc
