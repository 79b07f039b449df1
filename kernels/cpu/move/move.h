// Common parts of the kernels that only move values.
#pragma once

#include <memory>

#include "kernels/kernel.h"
#include "kernels/spec/move/move_spec.h"

namespace ampc {

// A kernel that does the spec's copies. Values keep their declared type, so they need no rounding.
std::unique_ptr<Kernel> MakeMove(const KernelSpec& spec, const MoveSpec& move);

// A kernel whose one result equals the operand byte for byte.
std::unique_ptr<Kernel> MakeAlias(const KernelSpec& spec, int input, int output);

}  // namespace ampc
