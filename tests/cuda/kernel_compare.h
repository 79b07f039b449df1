// Every op of a program on the CPU's kernels and again, on the same operands, on a device's.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "graph/base/dtype.h"
#include "graph/program.h"
#include "kernels/device/device.h"
#include "kernels/kernel_registry.h"
#include "runtime/tensor_map.h"

namespace ampc::testing {

struct ComparedKernels {
  std::set<std::pair<std::string, DType>> compared;  // op and the type that its KernelEntry goes by
  std::vector<std::string> refused;                  // "op: why" where the device's kernel is not for this op: the host runs it
  std::vector<std::string> failures;
};

// Runs `program` on the CPU, op by op. Each op that `kernels` has runs on `device`, too; its results must agree within
// DeviceToleranceFor, no byte outside of results and workspace may change, and results in the memory of an operand, where the
// kernel or the program's states ask for that, must have the same bits. `layouts`: 4-D operands and results of kernels that take them
// lie channels-last as well. Error: the program cannot run on the CPU in one plan.
absl::Status CompareKernels(const Program& program, const TensorMap& feeds, const KernelRegistry& kernels, Device& device,
                            ComparedKernels* out);

}  // namespace ampc::testing
