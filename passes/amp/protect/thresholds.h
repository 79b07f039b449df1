// The numbers that the rules of protect turn on, each with its reason.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"

namespace ampc {

// The part of a value's size that rounding may take before it counts as a loss.
inline constexpr double kLargeError = 0x1p-6;
// More elements than a vector of a model has.
inline constexpr int64_t kMostVectorElements = int64_t{1} << 20;
// The smallest normal value of f16: a logarithm of more than that loses nothing that matters.
inline constexpr double kSafeForLog = 0x1p-14;
// The error of a normalisation's factor that counts as rounding.
inline constexpr double kSmallError = 0x1p-9;
// From this degree on a value of ordinary size leaves the range: 41 cubed is above 65504.
inline constexpr int kHighDegree = 3;
// A value that is divided by that much and is of ordinary size then, 32 or more, was beyond the range.
inline constexpr double kLongProduct = 2048;
// A smaller offset, taken from feeds of ordinary size, as images between 0 and 1 are, leaves values about as large.
inline constexpr double kSmallOffset = 4;
// The sum of the weights of a mean, beside 1: exporters round them.
inline constexpr double kNearlyOne = 0.05;
// Means of feeds that many deviations from zero: what a low type rounds away is not small beside the deviation.
inline constexpr double kFarFromZero = 4;
// An angle up to here has as small an error as any value of its size.
inline constexpr double kSmallAngle = 4;
// A point has up to four coordinates: what multiplies it with frequencies adds up no more products.
inline constexpr int64_t kMostCoordinates = 4;
// All integers up to here are exact.
inline double MostExact(DType low) { return low == DType::kF16 ? 2048 : 256; }

// How far a rule looks for the op that it is about. Exporters write fewer ops between; without a limit an op could be looked at
// once per reader.
inline constexpr int kMostReshapes = 4;  // between a largest value and what it is subtracted from, a product and what divides it
inline constexpr int kMostMoves = 8;     // between a value and its multiple of whole numbers
inline constexpr int kMostOffsets = 16;  // from feeds to their difference
inline constexpr int kMostMoments = 32;  // from a mean square to the squared mean beside it

}  // namespace ampc
