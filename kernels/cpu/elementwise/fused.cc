// fused_elementwise, which plans make for devices: here so that its programs run everywhere.
#include <algorithm>

#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/parallel.h"
#include "kernels/spec/fused_spec.h"

namespace ampc {
namespace {

constexpr int kLanes = 16;
constexpr int64_t kGrain = 1 << 10;  // groups of lanes

struct RoundValue {
  static float To(DType dtype, float v) { return dtype == DType::kF16 ? static_cast<float>(Half(v)) : static_cast<float>(BFloat16(v)); }
};

// The operand's element for the result's element `i`.
int64_t OffsetOf(const std::vector<int64_t>& dims, const std::vector<int64_t>& whole, int64_t i) {
  int64_t offset = 0, size = 1;
  for (size_t d = whole.size(); d-- > 0;) {
    if (dims[d] != 1) offset += i % whole[d] * size;
    size *= dims[d];
    i /= whole[d];
  }
  return offset;
}

void RunLanes(const FusedSpec& fused, const KernelArgs& args, int64_t first, int count) {
  const ElementProgram& p = fused.program;
  float registers[kElementRegisters][kLanes] = {};
  for (int i = 0; i < p.operands; ++i) {
    const float* x = static_cast<const float*>(args.inputs[i]);
    const bool same = fused.operands[i] == fused.whole;
    for (int k = 0; k < count; ++k) registers[i][k] = x[same ? first + k : OffsetOf(fused.operands[i], fused.whole, first + k)];
  }
  RunElementProgram<kLanes, RoundValue>(p, registers);
  for (int i = 0; i < p.results; ++i) std::copy_n(registers[p.result[i]], count, static_cast<float*>(args.outputs[i]) + first);
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(FusedSpec fused, ReadFused(spec));
  for (const TensorDesc& in : spec.inputs) AMPC_RETURN_IF_ERROR(view.CheckType(in.dtype, {DType::kF32}));
  for (const TensorDesc& out : spec.outputs) AMPC_RETURN_IF_ERROR(view.CheckType(out.dtype, {DType::kF32}));
  KernelTraits traits;
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [fused = std::move(fused), n = spec.outputs[0].NumElements()](const KernelArgs& args) {
    ParallelFor(args.threads, (n + kLanes - 1) / kLanes, kGrain, [&](int64_t first, int64_t last) {
      for (int64_t i = first * kLanes; i < std::min(n, last * kLanes); i += kLanes) {
        RunLanes(fused, args, i, static_cast<int>(std::min<int64_t>(kLanes, n - i)));
      }
    });
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterFusedElementwise(KernelRegistry* registry) {
  return registry->Add({"fused_elementwise", &Make, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kElementwise});
}

}  // namespace ampc
