// One op on a device's kernel: what OpRun (op_run.h) does where a test has chosen a device.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "kernels/device/device.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"

namespace ampc::testing {

// `t`, in storage type, from one memory order to another.
HostTensor InLayout(const HostTensor& t, const TensorDesc& desc, Layout from, Layout to);

// The results of the kernel that `entry` makes for `spec` on `device`; operands and results in storage type, row-major. It runs twice: with
// memory of its own for each result, then with results in their operands' memory where a plan would do that (in_place_input; ParamOut and
// Param of an op that overwrites states). Both must give the same bits, within DeviceToleranceFor of `on_cpu`, and write no byte outside.
absl::StatusOr<std::vector<HostTensor>> RunKernelOnDevice(const KernelEntry& entry, KernelSpec spec,
                                                          absl::Span<const HostTensor* const> operands,
                                                          absl::Span<const HostTensor* const> on_cpu, Device& device);

}  // namespace ampc::testing
