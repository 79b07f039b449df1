// Launcher of fused_elementwise.
#pragma once

#include "kernels/common/element_program.h"
#include "kernels/cuda/launch/elementwise.h"

namespace ampc::cuda {

// in[0..operands) of f32, f16 or bf16; out[0..results) with the shape's elements.
struct FusedParams {
  ElementProgram program;
  MapShape shape;
  MapOperand in[ElementProgram::kMaxOperands];
  MapResult out[ElementProgram::kMaxResults];
};
int LaunchFused(void* stream, const FusedParams& p);

}  // namespace ampc::cuda
