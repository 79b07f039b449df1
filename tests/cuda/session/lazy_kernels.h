// A kernel for every op on the emulated device: the CPU's, put on the stream like any device work.
#pragma once

#include <cstdint>

#include "kernels/kernel_registry.h"

namespace ampc {

// With it a plan never waits for the device, whatever families of kernels there are. Layouts as on the CPU.
const KernelRegistry& LazyKernels();
// How often plans have run one of them; replaying a graph does not count.
int64_t LazyRuns();

// No kernel: the host computes everything.
const KernelRegistry& NoKernels();

}  // namespace ampc
