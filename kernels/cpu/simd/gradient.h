// Vector loops over float arrays for the derivatives of kernels/common/gradient_functors.inc. An element's result depends on its operands
// only. `out` may be an operand's array itself, not one that overlaps it partly. No alignment is needed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/functor_ids.h"

namespace ampc::simd {

using functors::RowGradient;
using functors::UnaryGradient;
using UnaryGradientFn = void (*)(const float* v, const float* g, float* out, size_t n, functors::Params<float> params);
using RowGradientFn = void (*)(const float* x, const float* y, const float* g, float* out, size_t n, functors::Params<float> params);

// Which operands of a row are one element for all n.
enum class Fixed : uint8_t { kNone, kX, kY, kYG };

// The loops for this CPU. kYG is for reductions (ScaledGrad and what follows), kX and the gradients of binary ops go together; null for
// other pairs.
UnaryGradientFn GradientOf(UnaryGradient op);
RowGradientFn GradientOf(RowGradient op, Fixed fixed);

}  // namespace ampc::simd
