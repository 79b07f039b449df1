// Which reduction an op is.
#pragma once

#include <cstdint>

namespace ampc {

// Of reduce_* ops. kAny and kAll ask whether some or every element is not 0, and answer 0 or 1.
enum class Reduction : uint8_t { kSum, kMean, kMax, kMin, kProd, kAny, kAll };

// Of p_norm, frobenius_norm and logsumexp.
enum class VectorNormKind : uint8_t { kCount, kOne, kTwo, kPower, kLargest, kSmallest, kLogSumExp };

}  // namespace ampc
