// Sizes that whoever writes a model may ask for: arithmetic on them that stays at the ends of int64_t instead of wrapping around, and how
// much there may be of anything. Every result's size is held against MostBytes by InferOp (graph/infer_context.h).
#pragma once

#include <cstdint>
#include <limits>

#include "absl/types/span.h"
#include "graph/base/dtype.h"

namespace ampc {

constexpr int64_t SatAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}
constexpr int64_t SatSub(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}
constexpr int64_t SatMul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) != (b < 0) ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}
// Rounded towards 0; 0 for NaN.
constexpr int64_t SatInt(double x) {
  if (!(x < 0x1p63)) return x != x ? 0 : std::numeric_limits<int64_t>::max();
  return x < -0x1p63 ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(x);
}

// No process of any machine that this runs on has more addresses.
inline constexpr int64_t kMostAddresses = int64_t{1} << 47;
// The bytes that this process can have at most: memory and swap of the machine, or the limit that was set for its addresses.
int64_t MostBytes();

// Bytes of a tensor with at least one element per dimension: an unknown one and 0 count as 1, so that what is made per dimension is
// counted, too. INT64_MAX when there is no such number.
int64_t SpannedBytes(DType dtype, absl::Span<const int64_t> dims);

}  // namespace ampc
