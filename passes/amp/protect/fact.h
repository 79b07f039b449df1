// Fact: what the rules of protect know of a value.
#pragma once

#include <cstdint>

#include "passes/amp/protect/bounds.h"
#include "passes/amp/protect/low_values.h"

namespace ampc {

struct Fact {
  enum Trait : uint16_t {
    kConstant = 1 << 0,    // made from shapes and integer constants alone
    kLarge = 1 << 1,       // beyond the range: a constant or a power made it so
    kSmall = 1 << 2,       // a constant that the low type lacks keeps it from zero
    kSquare = 1 << 3,      // a square that is only averaged or summed
    kStatistic = 1 << 4,   // a mean or sum of squares, or made from one
    kSummed = 1 << 5,      // a sum, an area or an exponential that may be beyond the range
    kExp = 1 << 6,         // an exponential, of those that are kSummed
    kWhole = 1 << 7,       // was an integer of any size or is the scale of such ones, or is arithmetic on these and constants alone
    kProduct = 1 << 8,     // made from what a matrix product or a convolution gives
    kExtent = 1 << 9,      // a difference of pieces of one tensor, or an exponential
    kFed = 1 << 10,        // a feed, or pieces of one, moved, pooled, and scaled or shifted by constants
    kOfLoss = 1 << 11,     // a loss or a mean over everything, or arithmetic on such
    kWorstCase = 1 << 12,  // its bounds are those of weights, which hardly any input comes near
    kMoment = 1 << 13,     // a variance or covariance that is a difference of moments, or sums and products of such
  };
  // A value that is one of several may have these traits if any of them may, and has the other traits only if all of them have.
  static constexpr uint16_t kMay = kLarge | kSmall | kStatistic | kSummed | kExp | kWhole | kProduct | kWorstCase | kMoment;

  // A value as a product of powers of one other: x * (2 * x) has base x and degree 2.
  struct Power {
    int base = -1;  // Var::id
    int degree = 1;
    friend bool operator==(const Power&, const Power&) = default;
  };

  // The size of a value as far as constants tell it.
  struct SizeHint {
    enum Kind : uint8_t {
      kNone,
      kFloor,       // one keeps it from zero: it is at least `size`
      kReciprocal,  // made from the reciprocal of such a value: it may reach `size`, beyond the range
      kScaled,      // a factor makes it small: about `size`
      kWeighted,    // so do weights
    };
    Kind kind = kNone;
    double size = 0;
    friend bool operator==(const SizeHint&, const SizeHint&) = default;
  };

  Bounds bounds;    // proven
  Bounds measured;  // of these what is left as long as values stay within what was measured of them
  LostValue lost;   // what it is, and loses in the low type, where it is a constant
  SizeHint size_hint;
  Power power;
  int origin = -1;  // Var::id of the tensor of which it is a piece, moved, bounded, scaled, or taken from another piece; -1 for no piece
  uint16_t traits = 0;

  bool Has(uint16_t some) const { return (traits & some) != 0; }
  friend bool operator==(const Fact& a, const Fact& b) {
    const bool same_loss =
        a.lost.loss == b.lost.loss && a.lost.value == b.lost.value && a.lost.least == b.lost.least && a.lost.many == b.lost.many;
    return same_loss && a.bounds == b.bounds && a.measured == b.measured && a.size_hint == b.size_hint && a.power == b.power &&
           a.origin == b.origin && a.traits == b.traits;
  }
};

}  // namespace ampc
