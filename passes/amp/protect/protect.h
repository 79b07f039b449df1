// protect: marks ops fp32 whose values low precision would destroy, with the reason; amp-decide obeys the marks.
//
//   a = elementwise_mul(x, x)              a = elementwise_mul(x, x) !amp=fp32("protect.statistics: ...")
//   v = reduce_mean(a)                     v = reduce_mean(a) !amp=fp32("protect.statistics: ...")
//   e = elementwise_add(v, eps)     ->     e = elementwise_add(v, eps) !amp=fp32("protect.constant: 1e-12 is 0 in f16")
//   s = sqrt(e)                            s = sqrt(e) !amp=fp32("protect.eps: ...")
//
// The rules are the rows of rules.cc, what they ask of values is in fact.h. Options: dtype=f16|bf16, rules=id,... O(program).
//
// facts: says what protect knows of each value, as notes; changes nothing.
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo ProtectPass();
PassInfo FactsPass();

}  // namespace ampc
