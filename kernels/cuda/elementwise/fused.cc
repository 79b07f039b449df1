// fused_elementwise.
#include "kernels/cuda/elementwise/fused.h"

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/elementwise/map_plan.h"
#include "kernels/spec/fused_spec.h"

namespace ampc::cuda {
namespace {

// An operand with every element of the first result, in its type, which no other operand reads in another way.
int InPlace(const KernelSpec& spec, const FusedParams& p) {
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (p.in[i].along != Along::kSame || spec.inputs[i].dtype != spec.outputs[0].dtype) continue;
    bool alone = true;
    for (size_t k = 0; k < spec.inputs.size(); ++k) alone = alone && (k == i || spec.op->inputs()[k] != spec.op->inputs()[i]);
    if (alone) return static_cast<int>(i);
  }
  return -1;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const FusedSpec fused, ReadFused(spec));
  FusedParams p;
  p.program = fused.program;
  for (const TensorDesc& in : spec.inputs) AMPC_RETURN_IF_ERROR(view.CheckType(in.dtype, {DType::kF32}));
  for (const TensorDesc& out : spec.outputs) AMPC_RETURN_IF_ERROR(view.CheckType(out.dtype, {DType::kF32}));
  if (!PlanMap(fused.operands, fused.whole, &p.shape, absl::MakeSpan(p.in).first(fused.operands.size()))) {
    return view.Unsupported(absl::StrCat("operands that repeat along more than ", kMaxMapRank, " dimensions have no device kernel"));
  }
  for (size_t i = 0; i < spec.inputs.size(); ++i) p.in[i].dtype = spec.inputs[i].dtype;
  for (size_t i = 0; i < spec.outputs.size(); ++i) p.out[i].dtype = spec.outputs[i].dtype;
  KernelTraits traits;
  traits.implementation = absl::StrCat("cuda:fused:", fused.program.steps);
  traits.in_place_input = InPlace(spec, p);
  return MakeDeviceKernel(std::move(traits), [p](const KernelArgs& args, void* stream) {
    FusedParams q = p;
    for (size_t i = 0; i < args.inputs.size(); ++i) q.in[i].data = args.inputs[i];
    for (size_t i = 0; i < args.outputs.size(); ++i) q.out[i].data = args.outputs[i];
    return LaunchFused(stream, q);
  });
}

}  // namespace

absl::Status RegisterFused(KernelRegistry* registry) {
  return registry->Add({"fused_elementwise", &Make, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kElementwise});
}

}  // namespace ampc::cuda
