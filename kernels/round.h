// Rounding of stored floats to the declared type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/base/dtype.h"

namespace ampc {

using RoundFn = void (*)(float* data, size_t n);

// The function that rounds `n` floats in place to the nearest values of f16 or bf16, ties to even, beyond the range to infinity; null for
// any other type.
RoundFn RoundingTo(DType type);

// The same for `threads` threads; any other type: nothing.
void RoundTo(DType type, float* data, int64_t n, int threads = 1);

}  // namespace ampc
