// Launchers of running sums and products, and of the gradient of the latter. Floats accumulate in double and round once for each result,
// integers in int64_t, which wraps. 0 or a code for Device::LaunchStatus.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/cuda/launch/rows.h"

namespace ampc::cuda {

// cumsum and cumprod, and the gradient of cumsum, which runs the other way. `out` may be `x`. Types: floats, i32, i64.
struct CumulateParams {
  AxisRows rows = {};
  bool product = false, exclusive = false, reverse = false;
  DType dtype = DType::kF32;
  const void* x = nullptr;
  void* out = nullptr;
  int64_t slices = 1, slice = 0;  // of a row; set by SliceRows
  void* workspace = nullptr;      // rows * slices numbers of 8 bytes where slices > 1
};
// Cuts long rows of which there are few, by their number and size only.
void SliceRows(CumulateParams* p);
int LaunchCumulate(void* stream, const CumulateParams& p);

// The gradient of cumprod, x's, from x, its result and the result's gradient; float types.
struct ProductGradientParams {
  AxisRows rows = {};
  DType dtype = DType::kF32;
  const void *x = nullptr, *out = nullptr, *g = nullptr;
  void* dx = nullptr;
};
int LaunchCumulativeProductGradient(void* stream, const ProductGradientParams& p);

}  // namespace ampc::cuda
