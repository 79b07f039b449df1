// The vector loop of check_finite_and_unscale: one pass over a gradient.
#pragma once

#include <cstdint>

namespace ampc::simd {

// out[i] = x[i] * factor; whether every result is finite. `out` may be `x` itself.
bool ScaleAndTest(const float* x, float factor, float* out, int64_t n);
// Whether every element is finite.
bool AllFinite(const float* x, int64_t n);

}  // namespace ampc::simd
