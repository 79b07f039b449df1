// Evaluator: computes an op on constants; passes fold with it, kernels implement it.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "graph/op.h"

namespace ampc {

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Operands in flat order; results in flat order. Unimplemented when there is no kernel for the op and its types.
  virtual absl::StatusOr<std::vector<HostTensor>> Evaluate(const Op& op, absl::Span<const HostTensor* const> operands) const = 0;
};

}  // namespace ampc
