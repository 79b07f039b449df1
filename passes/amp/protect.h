// protect: marks ops fp32 whose values low precision would destroy, with the reason; amp-decide obeys the marks.
//
//   a = elementwise_mul(x, x)              a = elementwise_mul(x, x) !amp=fp32("protect.statistics: ...")
//   v = reduce_mean(a)                     v = reduce_mean(a) !amp=fp32("protect.statistics: ...")
//   e = elementwise_add(v, eps)     ->     e = elementwise_add(v, eps) !amp=fp32("protect.constant: 1e-12 is 0 in f16")
//   s = sqrt(e)                            s = sqrt(e) !amp=fp32("protect.eps: ...")
//
// Rules: shape (computed from shapes and constants alone), index (feeds an index, a shape or a loop count), constant (reads a
// constant that the low type has as zero or infinity), range (reads a value that such a constant made large), eps (reads a
// value that such a constant keeps from zero), distance (exp(x - max(x))), scale (becomes that of a quantisation), statistics (a square
// that is only averaged or summed), loss (what reduces one, and a mean over everything that only becomes other numbers), log (a small part of the program whose result goes into a logarithm of small values).
// Option: dtype=f16|bf16. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo ProtectPass();

}  // namespace ampc
