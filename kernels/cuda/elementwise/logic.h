// Launchers of comparisons, truth values and bits.
#pragma once

#include "kernels/cuda/launch/elementwise.h"

namespace ampc::cuda {

// `op`: a LogicOp (kernels/spec/elementwise_spec.h) of two operands, of one operand.
int LaunchLogic(void* stream, int op, const MapParams<2>& map);
int LaunchTruth(void* stream, int op, const MapParams<1>& map);

}  // namespace ampc::cuda
