// Computes one op at once, for folding: what a plan would do with it in one step.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"

namespace ampc {

// The results of the entry's CPU kernel on `spec.values`, which are all given unless the kernel needs none of them: in storage types,
// rounded to the declared ones. Errors as MakeKernel and Kernel::Run.
absl::StatusOr<std::vector<HostTensor>> Compute(const KernelEntry& entry, const KernelSpec& spec);

}  // namespace ampc
