#include "kernels/compute.h"

#include <cstring>
#include <memory>
#include <utility>

#include "graph/base/status_macros.h"
#include "kernels/round.h"

namespace ampc {

absl::StatusOr<std::vector<HostTensor>> Compute(const KernelEntry& entry, const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel, MakeKernel(entry, spec));
  std::vector<HostTensor> results;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const HostTensor* value : spec.values) in.push_back(value == nullptr ? nullptr : value->data());
  for (const TensorDesc& desc : spec.outputs) {
    AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::CreateUninitialized(StorageType(desc.dtype), desc.dims));
    results.push_back(std::move(t));
    out.push_back(results.back().mutable_data());
  }
  if (const int alias = kernel->alias_input(); alias >= 0) {
    if (results[0].size_bytes() > 0) std::memcpy(out[0], in[alias], results[0].size_bytes());
    return results;
  }
  AMPC_ASSIGN_OR_RETURN(HostTensor workspace, HostTensor::CreateUninitialized(DType::kU8, {kernel->workspace_bytes()}));
  AMPC_RETURN_IF_ERROR(kernel->Run({in, out, workspace.mutable_data(), spec.threads}));
  if (kernel->rounds_results()) return results;
  for (size_t i = 0; i < results.size(); ++i) RoundTo(spec.outputs[i].dtype, static_cast<float*>(out[i]), spec.outputs[i].NumElements());
  return results;
}

}  // namespace ampc
