// The steps of fused_elementwise, for its record, the pass that makes it and the kernels that run it.
//
//   X = v0, v1, ...; each of `steps` is one op in program text and defines the next value; `results` numbers the values that are Out.
//   o = fused_elementwise(x, b) axes=[0, 1] results=[3] steps=["v2 = elementwise_add(v0, v1) axis=1 : f16 [*]", "v3 = relu(v2) : f16 [*]"]
//   types=["f16"]
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/op.h"

namespace ampc::ops {

inline constexpr int kMaxFusedOperands = 16, kMaxFusedResults = 4, kMaxFusedSteps = 48;

// An element-wise op of one result whose floats are f32, f16 or bf16 and whose parameters are attributes: the only ones that may be steps.
// Reads types, slots and attributes.
bool MayBeFusedStep(const Op& op);

// How many of kMaxFusedSteps a step takes: a sum adds its operands one by one.
int StepsOf(const Op& step);

// The dimension of a result of rank `rank` at which operand `flat` of a step starts: Paddle's rule for the step's op.
int64_t StepAxis(const Op& step, int flat, int64_t rank);

}  // namespace ampc::ops
