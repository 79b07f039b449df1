// What protect finds out about values. Internal to protect.
#pragma once

#include <cstdint>

namespace ampc {

struct ProtectFacts {
  enum Flag : uint16_t {
    kConstant = 1 << 0,   // made from shapes and integer constants alone
    kLarge = 1 << 1,      // beyond the range: a constant or a power made it so
    kSmall = 1 << 2,      // a constant that the low type lacks keeps it from zero
    kExact = 1 << 3,      // becomes an index, a shape or a loop count
    kSquare = 1 << 4,     // a square that is only averaged or summed
    kStatistic = 1 << 5,  // a mean or sum of squares, or made from one
    kSummed = 1 << 6,     // a sum, an area or an exponential that may be beyond the range
    kScale = 1 << 7,      // becomes the scale or the zero point of a quantisation
    kWhole = 1 << 8,      // was an integer of any size or is the scale of such ones, or is arithmetic on these and constants alone
    kProduct = 1 << 9,    // made from what a matrix product or a convolution gives
    kExtent = 1 << 10,    // a difference of pieces of one tensor, or an exponential
    kFed = 1 << 11,       // a feed, or pieces of one, moved, pooled, and scaled or shifted by constants
    kExp = 1 << 12,       // an exponential, of those that are kSummed
    kOfLoss = 1 << 13,    // a loss or a mean over everything, or arithmetic on such
  };
  static constexpr uint16_t kCrossesBlocks = kLarge | kSmall | kStatistic | kSummed | kExp | kWhole | kProduct;
  // A value as a product of powers of one other: x * (2 * x) has base x and degree 2.
  struct Power {
    int base = -1;  // Var::id
    int degree = 1;
  };

  // What constants say of the size of a value.
  struct Guard {
    enum Kind : uint8_t {
      kFloor,       // one keeps it from zero: it is at least `size`
      kReciprocal,  // made from the reciprocal of such a value: it may reach `size`, beyond the range
      kScaled,      // a factor makes it small: about `size`
      kWeighted,    // so do weights
    };
    Kind kind = kFloor;
    double size = 0;
  };
};

}  // namespace ampc
