// Rounding of stored floats to the declared type.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"

namespace ampc {

// Rounds each of `n` floats to the nearest value of f16 or bf16, ties to even, beyond the range to infinity; any other type: nothing.
void RoundTo(DType type, float* data, int64_t n, int threads = 1);

}  // namespace ampc
