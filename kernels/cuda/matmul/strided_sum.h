// Device code: sums and copies between arrays with any strides.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"

namespace ampc::cuda {

inline constexpr int kMaxStridedAxes = 8;

// out[sum of index * out_stride] = factor * sum over `summed` axes of in[sum of index * in_stride], for each index over the `kept` axes.
// Without summed axes it is a copy, also between float types; strides may be 0 in `in`. Sums in double, rounded once.
struct StridedSumParams {
  struct Axis {
    int64_t size = 1, in_stride = 0, out_stride = 0;
  };
  const void* in = nullptr;
  void* out = nullptr;
  DType in_type = DType::kF32, out_type = DType::kF32;  // floats
  int kept = 0, summed = 0;
  Axis kept_axes[kMaxStridedAxes];  // outermost first
  Axis summed_axes[kMaxStridedAxes];
  int64_t elements = 1, terms = 1;  // products of the sizes
  double factor = 1;
};
int LaunchStridedSum(void* stream, const StridedSumParams& params);

}  // namespace ampc::cuda
