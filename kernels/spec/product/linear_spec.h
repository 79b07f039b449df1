// Parameters of fused_gemm_epilogue and its gradient, read once for the kernels of every device.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/common/activation.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/lib/matmul_spec.h"

namespace ampc {

struct LinearSpec {
  onednn::MatmulSpec product;                       // of the forward op, X by Y: one matrix by one matrix, nothing behind it
  ActivationKind function = ActivationKind::kNone;  // kRelu, kGeluTanh: behind the product, or its derivative behind DX
  // The value that the function or its derivative is applied to: Out, or DX. A row of ReserveSpace has `reserve_row` elements: of relu
  // bytes, whose bits, the lowest first, say which columns are above 0; of gelu its operand, as many as columns.
  int64_t rows = 0, cols = 0, reserve_row = 0;
};

LinearSpec ReadLinear(const SpecView& view);
LinearSpec ReadLinearGradient(const SpecView& view);

}  // namespace ampc
