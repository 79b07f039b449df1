// The ops that clip gradients, by GradientClip.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "graph/program.h"
#include "passes/autodiff/append_backward.h"
#include "passes/train/gradient_clip.h"
#include "passes/train/optimizer.h"

namespace ampc {

// Appends the ops; the entries' gradients, none of them null, become the clipped ones.
absl::Status ClipGradients(Program& main, const GradientClip& clip, OptimizerStyle style, std::vector<VarGradient>& gradients);

// In a Paddle style: which parameter and gradient an op of the optimizer belongs to, and the part of it.
void Label(Op& op, OptimizerStyle style, const VarGradient& owner, absl::string_view scope);

}  // namespace ampc
