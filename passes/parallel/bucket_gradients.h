// bucket-gradients: an exchange between processes starts as soon as some of its values are there, and goes on while the rest is computed.
//
//   a = ..                                       a = ..
//   b = ..                                       b = ..
//   c = ..                                 ->    p0 = c_allreduce_start(X=[a, b]) bucket=0
//   x, y, z = c_allreduce_sum(a, b, c)           c = ..
//                                                p1 = c_allreduce_start(X=[c]) bucket=1
//                                                x, y = c_allreduce_finish(Pack=p0, X=[a, b]) bucket=0
//                                                z = c_allreduce_finish(Pack=p1, X=[c]) bucket=1
//
// Operands are taken in the order in which they are defined, which in a backward part begins with the last layer; a bucket ends when its
// f32 values are `bytes` or more. Its start stands behind the op that defines its last operand, or writes it last; the finishes stand where
// the exchange stood. Buckets are numbered through, so all processes, which have the same program, agree. For execution on devices, whose
// exchanges have a stream of their own. Option: bytes (default 25 MiB). O(program) and a sort of each exchange's operands.
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo BucketGradientsPass();

}  // namespace ampc
