// measure: ranges of values decide, too. Runs the program on inputs (PassContext::executor), or takes ranges that an earlier run measured,
// and marks the ops fp32 that make or read what leaves the range of the low type or vanishes in it (ranges.h). Puts Ranges, all of them,
// into the context and a note with the number of marks. Needs known types.
//
//   y = matmul_v2(x, w)   # reached 61000        ->    y = matmul_v2(x, w) !amp=fp32("protect.measured: 'y' reached 61000")
//
// With probe=N and neither inputs nor ranges the inputs of N runs are made: what leaves the range there does so on any. Without an
// executor, and where the executor finds the program too large or no made inputs that it takes, nothing is measured. ProbeReport in the
// context says what was done.
//
// Options: probe=N, inputs=FILE,..., ranges=FILE (as passes/option_text.h joins them), dtype=f16|bf16, mark=true|false. O(program) and the
// runs.
#pragma once

#include <string>

#include "passes/pass.h"

namespace ampc {

struct ProbeReport {
  std::string text;  // "2 runs on made inputs (x: an image in 0..1, [1, 3, 224, 224])", or "left out: ..."
};

PassInfo MeasurePass();

}  // namespace ampc
