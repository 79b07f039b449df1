// measure: ranges of values decide, too. Runs the program on inputs (PassContext::executor), or takes ranges that an earlier run measured, and marks
// the ops fp32 that make or read what leaves the range of the low type or vanishes in it (ranges.h). Puts Ranges, all of them, into the context and
// a note with the number of marks. Needs known types.
//
//   y = matmul_v2(x, w)   # reached 61000        ->    y = matmul_v2(x, w) !amp=fp32("protect.measured: 'y' reached 61000")
//
// Options: inputs=FILE,..., ranges=FILE (as passes/option_text.h joins them), dtype=f16|bf16, mark=true|false. O(program) and the runs.
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo MeasurePass();

}  // namespace ampc
