// The first values of a training program's params and states.
#pragma once

#include "absl/status/status.h"
#include "graph/training_program.h"
#include "runtime/exec/scope.h"

namespace ampc {

// Gives params and states whose dims a file leaves open those of what the startup program puts into them. (Paddle's files do not
// tell a scalar, as a learning rate is, from a tensor of unknown rank.) An error of inference as it is.
absl::Status FillStateDims(TrainingProgram& program);

// Puts every param and state of both programs into the empty `scope`: stored weights as stored, without the casts that a conversion
// hung on them; then runs `startup` on it, so that masters are made of unrounded values; then declares and rounds everything as
// `main` does. Errors: exit code 3 for one that an op reads before anything gave it a value, or whose dims are not known; 2 and 4
// as ProgramRunner.
absl::Status InitScope(const TrainingProgram& program, int threads, Scope& scope);

}  // namespace ampc
