// The effect of narrowing on float32 values: the thresholds of a 16-bit float type, counted and applied over whole arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/weight.h"

namespace ampc {

// Magnitudes as float32 bits, for rounding to nearest even.
struct LowRange {
  uint32_t overflow;       // the least that rounds to infinity
  uint32_t max_finite;     // the largest finite value of the type
  uint32_t zero_max;       // the largest that rounds to zero
  uint32_t normal_min;     // the least that does not round to a subnormal or zero
  uint32_t min_subnormal;  // the smallest value of the type above zero
};
// `low` is kF16 or kBF16.
const LowRange& LowRangeOf(DType low);

// Copies `n` floats from `in` (any alignment) to `out`, adjusted by the policies of `transform` so that plain rounding to
// transform.to gives the wanted result, and adds what happens to them to `damage`. Returns the index of the first value
// beyond the range, n when there is none.
size_t AdjustToLow(const char* in, size_t n, const WeightTransform& transform, float* out, WeightDamage* damage);

}  // namespace ampc
