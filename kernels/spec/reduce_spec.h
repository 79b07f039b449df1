// Parameters of reductions and of kernels along one axis, alike on every device.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/common/reduction.h"
#include "kernels/cpu/base/axis_split.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/spec/reduce_plan.h"

namespace ampc {

// Per dimension of `x` whether it goes: those of `axes` (from the end when negative), all of them when `all` or `axes` is empty.
absl::StatusOr<std::vector<bool>> ReducedDims(const SpecView& view, const Dims& x, const std::vector<int64_t>& axes, bool all);
// Those of reduce_*, mean, frobenius_norm, logsumexp and p_norm and of their gradients. Unimplemented where an operand that names axes
// is not constant.
absl::StatusOr<std::vector<bool>> ReadReducedDims(const SpecView& view);

// The axis of arg_max and arg_min; Unimplemented for a row of no elements.
absl::StatusOr<AxisSplit> ReadArgAxis(const SpecView& view);
// `axis` (default: the last) of softmax and log_softmax, and of their gradients, on a tensor like `x`, as it lies in memory.
absl::StatusOr<AxisSplit> ReadSoftmaxAxis(const SpecView& view, const TensorDesc& x);

// cumsum, cumprod and their gradients on a tensor like `x`.
struct Cumulation : AxisSplit {
  bool product = false, exclusive = false, reverse = false;
};
absl::StatusOr<Cumulation> ReadCumulation(const SpecView& view, const TensorDesc& x);

struct VectorNorm {
  VectorNormKind kind = VectorNormKind::kTwo;
  double order = 2;
};
// Of p_norm, frobenius_norm and logsumexp, and of their gradients.
VectorNorm ReadVectorNorm(const Op& op);

}  // namespace ampc
