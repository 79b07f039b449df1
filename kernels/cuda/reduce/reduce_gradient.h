// Launchers of the gradients of reductions. 0 or a code for Device::LaunchStatus.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch/any.h"
#include "kernels/cuda/reduce/reduce_shape.h"

namespace ampc::cuda {

// The derivatives of kernels/common/gradient_functors.inc that a reduction has.
enum class ReductionGradient : uint8_t { kScaled, kExtreme, kLogSumExp, kNormOne, kNormTwo, kNormExtreme, kNormPower };

// The position of the result of each element of X: rows of `inner` neighbours, whose results are neighbours (y_inner 1) or one (0).
struct ResultsOf {
  Loops outer = {};
  int64_t rows = 1, inner = 1;
  int y_inner = 1;
};

struct ReduceGradientParams {
  ResultsOf at = {};
  DType dtype = DType::kF32;  // of x and dx
  const void* x = nullptr;
  AnyInput y = {}, g = {};  // the result and its gradient
  void* dx = nullptr;
  double parameter = 0;
};
int LaunchReduceGradient(void* stream, ReductionGradient op, const ReduceGradientParams& p);

// reduce_prod's: for each element the product of the others, exact where some are 0. dx may be x. workspace: the bytes below.
inline int64_t ProductGradientBytes(const ReduceShape& shape) { return 16 * (shape.results() + shape.parts()); }
int LaunchReduceProductGradient(void* stream, const ReduceShape& shape, const ReduceGradientParams& p, void* workspace);

}  // namespace ampc::cuda
