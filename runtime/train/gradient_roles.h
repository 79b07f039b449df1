// Which op finally writes the gradient of which parameter: the attribute op_role_var of Paddle's programs, and where the casts of
// low gradients stand.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "graph/program.h"
#include "passes/autodiff/append_backward.h"

namespace ampc::amp {

// Gives the op that writes each gradient op_role_var = [param, gradient, ...]. If that op widens a low gradient, the attribute goes
// to the op that writes the low one (this is what processes exchange), and the cast becomes part of the optimizer (role Optimize) at
// the end of the block. UsageError where another op reads a gradient that is moved.
absl::Status SetGradientRoles(Program& program, const std::vector<VarGradient>& gradients);

// Moves the ops of role Optimize behind all others, keeping both orders: every loss is computed before any parameter moves.
void OptimizeLast(Program& program);

// Appends a cast to fp32 for each low gradient, whose entry then holds the result.
absl::Status AddMasterGradients(Program& program, std::vector<VarGradient>& gradients);

}  // namespace ampc::amp
