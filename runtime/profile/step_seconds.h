// StepSeconds: the time of a run's steps, as seconds of the ops of the program that somebody wrote.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/program.h"

namespace ampc {

// `ran` is `program`, or a conversion of it, after the passes of a plan; `seconds` by Op::id of it. An op of `ran` stands for those of
// `program` between what it reads and what it makes, by the names of values, and each of these has the part of the time that `work` says;
// where passes split an op, its parts count together. Returns seconds by Op::id of `program`: 0 for an op that nothing stands for.
// Casts that a conversion inserted are left out.
std::vector<double> OpSecondsOf(const Program& program, const Program& ran, const std::vector<double>& seconds,
                                absl::FunctionRef<double(const Op& op)> work);

// A cast between floats whose result `program` does not have.
bool IsCastOfConversion(const Op& ran, const Program& program);

}  // namespace ampc
