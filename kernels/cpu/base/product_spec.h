// The matrix product that an op is, and those that its gradient is: the one place that reads matmul, matmul_v2, mul, bmm, mv, dot,
// addmm and fc.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/lib/matmul_spec.h"

namespace ampc {

// The op is of `type` or its gradient; `x` and `y` are the dims of its factors. Sizes, transpositions and the factor of the
// product; threads and bf16 by `view`, bf16 where operand `factor` (flat) has that type. Unimplemented for products fused with a
// reshape or a transposition.
absl::StatusOr<onednn::MatmulSpec> ReadProduct(const SpecView& view, absl::string_view type, const Dims& x, const Dims& y, int factor);
// Of fc, with its bias and activation.
absl::StatusOr<onednn::MatmulSpec> ReadFc(const SpecView& view);

// The term that addmm adds to element (row, col) of the m x n product: factor * Input[row * row_stride + col * col_stride]; a stride is 0
// along a dim that repeats.
struct ProductAddend {
  float factor = 0;
  int64_t row_stride = 0, col_stride = 0;
};
ProductAddend ReadAddend(const SpecView& view);

// Leading dims of the product.
std::vector<int64_t> BatchOf(const onednn::MatmulSpec& s);
// Makes one stack of rows of stacks that share b.
void JoinRows(onednn::MatmulSpec& s);
// The product whose result is the gradient of a as a is stored, of as many matrices as the result has: the result's gradient is its first
// factor and b its second, the other way round with trans_a.
onednn::MatmulSpec GradientOfA(const onednn::MatmulSpec& s);
// The same for b: a and the result's gradient, the other way round with trans_b.
onednn::MatmulSpec GradientOfB(const onednn::MatmulSpec& s);

}  // namespace ampc
