// drop-identity: removes ops that give back what they got.
//
//   d = dropout(x) is_test=true dropout_implementation="upscale_in_train"     ->     y = relu(x)
//   y = relu(d)
//
// Also assign, scale by 1 and plus 0, and a product with or a division by the constant 1, a sum with or a difference by the
// constant 0 of one element. The other results of a dropout must be unread. Fetched results stay; so does an op whose operand
// is overwritten anywhere. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo DropIdentityPass();

}  // namespace ampc
