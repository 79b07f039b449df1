// The interpreter of fused_elementwise, for host and device: a list of steps on a small file of registers, each a few neighbours wide, so
// that deciding what a step is costs once per that many elements. No compiler is needed at run time: maps are bound by memory, not by this.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/binary_math.h"
#include "kernels/common/functor_ids.h"
#include "kernels/common/gradient_functors.h"
#include "kernels/common/host_device.h"
#include "kernels/common/precise_math.h"

namespace ampc {

enum class StepKind : uint8_t { kCopy, kUnary, kBinary, kGradient };

// A step defines the next register: operands first, then one register per step.
struct ElementStep {
  StepKind kind = StepKind::kCopy;
  uint8_t functor = 0;  // UnaryOp, Op2 or UnaryGradient
  uint8_t x = 0, y = 0;
  DType round = DType::kF32;  // what the result is rounded to
  functors::Params<float> params = {};
};

struct ElementProgram {
  static constexpr int kMaxOperands = 16, kMaxResults = 4, kMaxSteps = 48;  // a sum of n operands is n - 1 steps
  int operands = 0, steps = 0, results = 0;
  ElementStep step[kMaxSteps];
  uint8_t result[kMaxResults] = {};  // registers
};

inline constexpr int kElementRegisters = ElementProgram::kMaxOperands + ElementProgram::kMaxSteps;

// out = step(x, y), element by element; `Round::To(dtype, v)` rounds.
template <int kN, class Round>
AMPC_HOST_DEVICE inline void RunElementStep(const ElementStep& s, const float (&x)[kN], const float (&y)[kN], float (&out)[kN]) {
  using M = functors::PreciseMath<float>;
  switch (s.kind) {
    case StepKind::kCopy:
      for (int k = 0; k < kN; ++k) out[k] = x[k];
      break;
    case StepKind::kUnary:
      switch (static_cast<functors::UnaryOp>(s.functor)) {
#define AMPC_CASE(name)                                                               \
  case functors::UnaryOp::k##name:                                                    \
    for (int k = 0; k < kN; ++k) out[k] = functors::name::Apply(M{}, x[k], s.params); \
    break;
        AMPC_UNARY_FUNCTORS(AMPC_CASE)
#undef AMPC_CASE
      }
      break;
    case StepKind::kBinary:
      for (int k = 0; k < kN; ++k) out[k] = ComputeFloat(static_cast<Op2>(s.functor), x[k], y[k]);
      break;
    case StepKind::kGradient:
      switch (static_cast<functors::UnaryGradient>(s.functor)) {
#define AMPC_CASE(name)                                                                     \
  case functors::UnaryGradient::k##name:                                                    \
    for (int k = 0; k < kN; ++k) out[k] = functors::name::Apply(M{}, x[k], y[k], s.params); \
    break;
        AMPC_UNARY_GRADIENTS(AMPC_CASE)
#undef AMPC_CASE
      }
      break;
  }
  if (s.round == DType::kF32) return;
  for (int k = 0; k < kN; ++k) out[k] = Round::To(s.round, out[k]);
}

// All steps; the operands are in the first registers.
template <int kN, class Round>
AMPC_HOST_DEVICE inline void RunElementProgram(const ElementProgram& p, float (&registers)[kElementRegisters][kN]) {
  for (int i = 0; i < p.steps; ++i) {
    const ElementStep& s = p.step[i];
    RunElementStep<kN, Round>(s, registers[s.x], registers[s.y], registers[p.operands + i]);
  }
}

}  // namespace ampc
