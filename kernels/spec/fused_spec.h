// fused_elementwise as a program of functors and a shape, from its attributes.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/common/element_program.h"
#include "kernels/kernel.h"

namespace ampc {

struct FusedSpec {
  ElementProgram program;
  std::vector<std::vector<int64_t>> operands;  // dims of the result's rank, 1 where one repeats
  std::vector<int64_t> whole;                  // dims of each result
};

// Unsupported for steps that MayBeFusedStep (graph/ops/fused_steps.h) refuses and for more than a program holds.
absl::StatusOr<FusedSpec> ReadFused(const KernelSpec& spec);

}  // namespace ampc
