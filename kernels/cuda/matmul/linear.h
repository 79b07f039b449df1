// Device code: what is behind the products of a linear layer where no epilogue of the library computes it. Rows of `reserve` have
// `reserve_row` elements: of relu bytes of a mask, the lowest bit first, of gelu the operands in `type`.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/activation.h"

namespace ampc::cuda {

struct LinearParams {
  const float* product = nullptr;  // may be `out`
  void* out = nullptr;
  DType type = DType::kF32;                         // of out and bias: f32, f16, bf16
  ActivationKind function = ActivationKind::kNone;  // kRelu, kGeluTanh
  int64_t rows = 0, cols = 0, reserve_row = 0;
};

// out = function(product + bias) in float32, rounded once; fills `reserve` unless it is null.
int LaunchLinear(void* stream, const LinearParams& params, const void* bias, void* reserve);
// out = product * the function's derivative by `reserve`, rounded once.
int LaunchLinearGradient(void* stream, const LinearParams& params, const void* reserve);

}  // namespace ampc::cuda
