// use-plan: the decisions of an earlier conversion, from the file that it wrote (plan.h). Puts PlannedOps into the context, which
// amp-decide obeys, and a note for each of the plan's entries that fits no op. Ops that measured ranges kept in fp32 are marked again,
// because nobody measures twice.
//
//   y = matmul_v2(x, w)        ->    y = matmul_v2(x, w) !amp=fp32("protect.measured: 'y' reached 61000")
//
// Options: file=FILE (as passes/option_text.h writes it); not read again if the context has its Plan. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo UsePlanPass();

}  // namespace ampc
