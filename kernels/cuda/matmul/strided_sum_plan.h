// The host part of strided sums: from dimensions to parameters.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/dtype.h"
#include "kernels/cuda/matmul/strided_sum.h"
#include "kernels/device/device.h"

namespace ampc::cuda {

struct StridedDim {
  int64_t size = 1, in = 0, out = 0;  // strides in elements; `out` is not read where the dimension is summed
  bool summed = false;
};

// Dimensions of size 1 go, neighbours that lie in each other join. Unimplemented where more than kMaxStridedAxes of a kind are left.
absl::StatusOr<StridedSumParams> PlanStridedSum(absl::Span<const StridedDim> dims, DType in, DType out, double factor = 1);

// The operand is dense over `dims`, the result dense over those that are not summed.
absl::StatusOr<StridedSumParams> PlanDenseSum(absl::Span<const int64_t> dims, const std::vector<bool>& summed, DType in, DType out,
                                              double factor = 1);

absl::Status RunStridedSum(Stream& stream, StridedSumParams params, const void* in, void* out);

}  // namespace ampc::cuda
