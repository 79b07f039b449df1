#include "kernels/cuda/elementwise/fused.h"

namespace ampc::cuda {
namespace {

struct RoundValue {
  static AMPC_HOST_DEVICE float To(DType dtype, float v) {
    if (dtype == DType::kF16) {
      Half h;
      Store(h, v);
      return Load(h);
    }
    BFloat16 b;
    Store(b, v);
    return Load(b);
  }
};

struct FusedStep {
  static constexpr int kN = kLanes<float>;
  FusedParams p;
  bool aligned_in[ElementProgram::kMaxOperands], aligned_out[ElementProgram::kMaxResults];

  AMPC_DEVICE void operator()(int64_t step) const {
    const int64_t first = step * kN;
    const int count = LanesAt(first, p.shape.n, kN);
    float registers[kElementRegisters][kN];
    for (int i = 0; i < p.program.operands; ++i) ReadLanes<float>(p.shape, p.in[i], aligned_in[i], first, count, registers[i]);
    RunElementProgram<kN, RoundValue>(p.program, registers);
    for (int i = 0; i < p.program.results; ++i) WriteLanes<float>(p.out[i], aligned_out[i], first, count, registers[p.program.result[i]]);
  }
};

}  // namespace

int LaunchFused(void* stream, const FusedParams& p) {
  FusedStep step{p, {}, {}};
  for (int i = 0; i < p.program.operands; ++i) step.aligned_in[i] = IsAligned(p.in[i].data);
  for (int i = 0; i < p.program.results; ++i) step.aligned_out[i] = IsAligned(p.out[i].data);
  return ForEach(stream, (p.shape.n + FusedStep::kN - 1) / FusedStep::kN, step);
}

}  // namespace ampc::cuda
