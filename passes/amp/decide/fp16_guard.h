// fp16-guard: turns the name scopes that Paddle's fp16_guard leaves on ops into guard marks.
//
//   y = relu(x) op_namescope="/__use_fp16__/"     ->     y = relu(x) op_namescope="/__use_fp16__/" !guard=1
//
// Regions are numbered in order of first appearance, by the scope text up to the end of its innermost guard part. Ops without
// such a scope keep the mark they have.
#pragma once

#include <string>

#include "passes/pass.h"

namespace ampc {

PassInfo Fp16GuardPass();
// The part of the op's name scope that names its guard region; "" outside of every guard.
std::string GuardScope(const Op& op);

}  // namespace ampc
