// Which of a device's kernels ran, over all test programs of a run: each notes in the file that the variable AMPC_KERNELS_RAN names what it
// has
// ("has OP TYPE") and what it ran ("ran OP TYPE"), as soon as it does, for a report that holds one against the other. Without the variable,
// nothing is noted. One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/base/dtype.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"

namespace ampc::testing {

// Op and float type, except f64: a test has to run each.
std::vector<std::pair<std::string, DType>> KernelsToRun(const KernelRegistry& kernels);

// The type that a KernelEntry goes by.
DType EntryTypeOf(const KernelSpec& spec);

bool NotesKernelsRan();
void NoteKernelsUnderTest(const KernelRegistry& kernels);
void NoteKernelRan(const std::string& op, const KernelSpec& spec);

}  // namespace ampc::testing
