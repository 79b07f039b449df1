// squared_l2_norm and clip_by_norm for a device.
#include "kernels/cuda/optimizer/norms.h"

#include <utility>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/multi_tensor/chunks.h"
#include "kernels/kernel.h"

namespace ampc::cuda {
namespace {

absl::StatusOr<NormTensor> ReadTensor(const KernelSpec& spec, KernelTraits* traits) {
  NormTensor t;
  t.elements = spec.inputs[0].NumElements();
  t.type = spec.inputs[0].dtype;
  t.out_type = spec.outputs[0].dtype;
  AMPC_RETURN_IF_ERROR(SpecView(spec).CheckType(t.type, {DType::kF32, DType::kF64}));
  if (StorageType(t.out_type) != StorageType(t.type)) return SpecView(spec).Unsupported("computes in the type of X only");
  traits->workspace_bytes = NormWorkspace(1, ChunksOf(t.elements)) * static_cast<int64_t>(sizeof(double));
  return t;
}

NormTensor At(NormTensor t, const KernelArgs& args) {
  t.x = args.inputs[0];
  t.out = args.outputs[0];
  return t;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSquaredNorm(const KernelSpec& spec) {
  KernelTraits traits;
  traits.implementation = "cuda:squared_norm";
  AMPC_ASSIGN_OR_RETURN(const NormTensor t, ReadTensor(spec, &traits));
  return MakeDeviceKernel(std::move(traits), [t](const KernelArgs& args, void* stream) {
    const NormTensor now = At(t, args);
    return LaunchSquaredNorms(stream, &now, 1, static_cast<double*>(args.workspace));
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeClipByNorm(const KernelSpec& spec) {
  KernelTraits traits;
  traits.implementation = "cuda:clip_by_norm";
  traits.in_place_input = 0;
  AMPC_ASSIGN_OR_RETURN(const NormTensor t, ReadTensor(spec, &traits));
  return MakeDeviceKernel(std::move(traits), [t, most = spec.op->GetFloat("max_norm")](const KernelArgs& args, void* stream) {
    const NormTensor now = At(t, args);
    return LaunchClipByNorm(stream, &now, 1, most, static_cast<double*>(args.workspace));
  });
}

}  // namespace

absl::Status RegisterGradientClip(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"squared_l2_norm", &MakeSquaredNorm, types}));
  return registry->Add({"clip_by_norm", &MakeClipByNorm, types});
}

}  // namespace ampc::cuda
