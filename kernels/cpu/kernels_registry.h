// Fills a registry with every CPU kernel; CpuKernels() of kernels/kernel.h is one filled so.
#pragma once

#include "absl/status/status.h"
#include "kernels/kernel_registry.h"

namespace ampc {

// Internal when two kernels claim one op.
absl::Status RegisterCpuKernels(KernelRegistry* registry);

}  // namespace ampc
