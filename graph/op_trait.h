// Columns of an op's record that say what its function does to values, for the rules of passes.
#pragma once

#include <cstdint>
#include <limits>

namespace ampc {

enum class OpTrait : uint32_t {
  kLog = 1 << 0,
  kSteepAtZero = 1 << 1,  // an operand that a low type rounds to zero or to few bits ruins the result: 1 / x, log, x^y
  kReciprocal = 1 << 2,   // of those: 1 / x, and 1 over its root
  kDivision = 1 << 3,     // of two operands
  kAffine = 1 << 4,       // of one operand, with attributes scale and bias
  kBounded = 1 << 5,      // however large the operand, the result is in range
  kNormalized = 1 << 6,   // of those: the result has a size of its own, the operand's does not show
  kSelection = 1 << 7,    // min, max, clip
  kSum = 1 << 8,          // adds or averages many elements
  kShapeReader = 1 << 9,
  kProduct = 1 << 10,  // of two operands
  kPower = 1 << 11,
  kRoot = 1 << 12,      // brings a square back to the size of its operand
  kAdditive = 1 << 13,  // a sum or difference of two operands, or one of them
  kExtremum = 1 << 14,  // the largest or smallest of many elements
  kExp = 1 << 15,
  kArithmetic = 1 << 16,   // sums, differences, products and quotients, element by element: an error of an operand is one of the result
  kPeriodic = 1 << 17,     // of an angle: whole periods do not show in the result
  kRemainder = 1 << 18,    // of a division, element by element
  kWhole = 1 << 19,        // rounds to whole numbers
  kRunning = 1 << 20,      // running sums
  kControlMove = 1 << 21,  // moves a value through control flow
  kRectifier = 1 << 22,    // a network's function that keeps a value or replaces it by a bound
  kSampler = 1 << 23,      // reads an image at the places that its second operand names
  kLoss = 1 << 24,         // of each row or place, by a label
  kChooser = 1 << 25,      // chooses among candidates by their places and scores
  kResample = 1 << 26,     // an image in another size: means, extremes or interpolations of what lies nearby
};

// How an op computes with weights, from which bounds of its result follow.
enum class WeightUse : uint8_t {
  kNone,
  kConv,
  kConvTransposed,
  kProduct,  // of matrices
  kBatchNorm,
  kLayerNorm,
  kInstanceNorm,
  kGroupNorm,
};

// How a number that an op has as an attribute enters its data. Not what only says where or how, not what normalisations compute with inside
// (epsilon), and not slopes.
enum class AttrUse : uint8_t {
  kNone,
  kFills,   // becomes elements of the result
  kAdds,    // a term
  kScales,  // a factor
  kBounds,  // of a selection: an infinity means the same as what is beyond the range
};

// Between which numbers the elements of a value lie: inclusive; infinite where nothing is known.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  // The largest magnitude that an element can have; infinite where one side is open.
  double Magnitude() const { return -low > high ? -low : high; }
  friend Bounds Union(const Bounds& a, const Bounds& b) { return {b.low < a.low ? b.low : a.low, b.high > a.high ? b.high : a.high}; }
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

}  // namespace ampc
