// fuse-elementwise: element-wise ops that pass values to each other become one sweep over their elements.
//
//   t = elementwise_add(x, b) axis=1 : f16     r = fused_elementwise(x, b) axes=[0, 1] results=[3] types=["f16"]
//   r = relu(t)                      : f16         steps=["v2 = elementwise_add(v0, v1) axis=1 : f16 [*]", "v3 = relu(v2) : f16 [*]"]
//
// Steps are the ops that MayBeFusedStep takes (graph/ops/fused_steps.h). All results of a group have one shape; operands may repeat. Each
// value is rounded to its type as before, so results have the same bits; with excess=true, for a CPU that keeps what float32 computed, only
// where a step is a cast. A value that something else reads stays, as a further result. The
// op stands where the last of its steps stood; a group ends where another op reads one of its values, so nothing is read too early.
// At least two steps; at most 16 operands, 4 results, 48 steps. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo FuseElementwisePass();

}  // namespace ampc
