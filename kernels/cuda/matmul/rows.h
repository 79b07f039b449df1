// Device code around products: what no library's epilogue computes, and products of vectors.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/activation.h"

namespace ampc::cuda {

// out[r, c] = activation(product[r, c] + bias[c] + factor * addend[r * row_stride + c * col_stride]) in float32, rounded once. `product`
// and `out` are 16-byte aligned.
struct FinishParams {
  const float* product = nullptr;  // null: zeros; may be `out`
  void* out = nullptr;
  const void* bias = nullptr;    // null: none
  const void* addend = nullptr;  // null: none
  DType out_type = DType::kF32, bias_type = DType::kF32, addend_type = DType::kF32;
  float factor = 1;
  int64_t row_stride = 0, col_stride = 0, rows = 0, cols = 0;
  Activation activation;
};
int LaunchFinish(void* stream, const FinishParams& params);

// out[r] = sum of x[r, i] * y[r, i]: f16, bf16 and f32 in float32; i32 and i64 wrap.
int LaunchDot(void* stream, DType type, const void* x, const void* y, void* out, int64_t rows, int64_t size);
// out[r, i] = factors[r] * x[r, i], floats.
int LaunchScaleRows(void* stream, DType type, const void* factors, const void* x, void* out, int64_t rows, int64_t size);

}  // namespace ampc::cuda
