// verify-training: does a training step scale, unscale, clip and update in the right order?
//
//   c1: a gradient is unscaled by the scale that its loss was multiplied with, before anything but casts and sums reads it
//   c2: no gradient is unscaled twice
//   c3: an op that updates a parameter skips it (SkipUpdate) where any check found something in what its gradient is made of; an op
//       read from a file may do without
//   c4: a scale moves once, after everything else in the step has read it
//
// A program without loss scaling passes. Changes nothing. O(program).
#pragma once

#include "absl/status/status.h"
#include "graph/program.h"
#include "passes/pass.h"

namespace ampc {

// The first problem in program order: one sentence that names the ops.
absl::Status VerifyTraining(const Program& program);

PassInfo VerifyTrainingPass();

}  // namespace ampc
