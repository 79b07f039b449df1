// The matrix product that an op is: the one place that reads matmul, matmul_v2, mul, bmm, mv, dot and addmm, for the ops and their
// gradients.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/lib/matmul.h"

namespace ampc {

// The op is of `type` or its gradient; `x` and `y` are the dims of its factors. Sizes, transpositions and the factor of the product;
// threads and bf16 by `view`, bf16 where operand `factor` (flat) has that type. Unimplemented for products fused with a reshape or a
// transposition.
absl::StatusOr<onednn::MatmulSpec> ReadProduct(const SpecView& view, absl::string_view type, const Dims& x, const Dims& y, int factor);

}  // namespace ampc
