// squared_l2_norm, also of several tensors, and clip_by_norm for a device.
#include "kernels/cuda/optimizer/norms.h"

#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/multi_tensor/chunks.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"

namespace ampc::cuda {
namespace {

// Operand i and result i.
absl::StatusOr<std::vector<NormTensor>> ReadTensors(const KernelSpec& spec, KernelTraits* traits) {
  std::vector<NormTensor> tensors;
  int64_t chunks = 0;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    NormTensor t;
    t.elements = spec.inputs[i].NumElements();
    t.type = spec.inputs[i].dtype;
    t.out_type = spec.outputs[i].dtype;
    AMPC_RETURN_IF_ERROR(SpecView(spec).CheckType(t.type, {DType::kF32, DType::kF64}));
    if (StorageType(t.out_type) != StorageType(t.type)) return SpecView(spec).Unsupported("computes in the type of X only");
    chunks += ChunksOf(t.elements);
    tensors.push_back(t);
  }
  traits->workspace_bytes = NormWorkspace(static_cast<int64_t>(tensors.size()), chunks) * static_cast<int64_t>(sizeof(double));
  return tensors;
}

std::vector<NormTensor> At(std::vector<NormTensor> tensors, const KernelArgs& args) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].x = args.inputs[i];
    tensors[i].out = args.outputs[i];
  }
  return tensors;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSquaredNorms(const KernelSpec& spec) {
  KernelTraits traits;
  traits.implementation = "cuda:squared_norm";
  AMPC_ASSIGN_OR_RETURN(std::vector<NormTensor> tensors, ReadTensors(spec, &traits));
  return MakeDeviceKernel(std::move(traits), [tensors = std::move(tensors)](const KernelArgs& args, void* stream) {
    const std::vector<NormTensor> now = At(tensors, args);
    return LaunchSquaredNorms(stream, now.data(), static_cast<int64_t>(now.size()), static_cast<double*>(args.workspace));
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeClipByNorm(const KernelSpec& spec) {
  KernelTraits traits;
  traits.implementation = "cuda:clip_by_norm";
  traits.in_place_input = 0;
  AMPC_ASSIGN_OR_RETURN(std::vector<NormTensor> tensors, ReadTensors(spec, &traits));
  return MakeDeviceKernel(std::move(traits),
                          [tensors = std::move(tensors), most = spec.op->GetFloat("max_norm")](const KernelArgs& args, void* stream) {
                            const std::vector<NormTensor> now = At(tensors, args);
                            return LaunchClipByNorm(stream, now.data(), 1, most, static_cast<double*>(args.workspace));
                          });
}

}  // namespace

absl::Status RegisterGradientClip(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  for (const char* op : {"squared_l2_norm", "grouped_squared_l2_norm"}) AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeSquaredNorms, types}));
  return registry->Add({"clip_by_norm", &MakeClipByNorm, types});
}

}  // namespace ampc::cuda
