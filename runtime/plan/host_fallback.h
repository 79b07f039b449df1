// HostFallback: ops that a device has no kernel for run on the host, between copies of their operands and results.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"
#include "runtime/plan/plan_target.h"

namespace ampc {

// The device's kernel for the spec where it has one; else `host`'s as a fallback. Unimplemented (exit 4) where neither has.
absl::StatusOr<std::unique_ptr<Kernel>> MakeKernelFor(const PlanTarget& target, const KernelRegistry& host, const KernelSpec& spec);

// Copies the operands that are no constants out in their declared types, widens halves, runs `kernel`, narrows and copies the results
// in: the values are those of a plan for the CPU. Takes the spec that `kernel` was made for; its constants must outlive the result.
std::unique_ptr<Kernel> MakeHostFallback(std::unique_ptr<Kernel> kernel, const KernelSpec& spec);

// Bytes that a run of `kernel` copies between the device and the host: 0 unless MakeHostFallback made it.
int64_t BytesThroughHost(const Kernel& kernel);

}  // namespace ampc
