// Vector loops over float arrays for the element-wise functors. An element's result depends on its operands only, never on
// its position or on n. `out` may be an operand's array itself, not one that overlaps it partly. No alignment is needed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/functor_ids.h"

namespace ampc::simd {

using functors::BinaryOp;
using functors::Params;
using functors::UnaryOp;
using UnaryFn = void (*)(const float* x, float* out, size_t n, Params<float> params);
using BinaryFn = void (*)(const float* x, const float* y, float* out, size_t n);

// Which operand of a binary loop is one element for all n.
enum class Spread : uint8_t { kNone, kX, kY };

// The loops for this CPU.
UnaryFn Unary(UnaryOp op);
BinaryFn Binary(BinaryOp op, Spread spread);

// The instruction set in use, in lower case: "avx3", "avx2", "emu128".
const char* TargetName();

}  // namespace ampc::simd
