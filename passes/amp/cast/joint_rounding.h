// Rounding the four numbers of a channel of batch normalisation together, so that what is computed with them moves least.
//
//   y = a * x + b,  a = scale / sqrt(variance + epsilon),  b = bias - mean * a
//
// Rounded one by one, four errors of half a unit come together in a and b. Among the numbers around them are some whose errors cancel: the
// result is as small and as fast, and a and b are closer by an order of magnitude.
#pragma once

#include "graph/base/dtype.h"

namespace ampc {

struct NormChannel {
  float scale = 1, bias = 0, mean = 0, variance = 1;
  friend bool operator==(const NormChannel&, const NormChannel&) = default;
};

// Which of the numbers are stored low. The others keep their value.
struct NormRetyped {
  bool scale = true, bias = true, mean = true, variance = true;
};

// How far a number may lie from the exact one, in units in the last place of the low type: scale and variance in their own units; bias, and
// mean times a, in units of the larger of those two, which is what b is made of.
inline constexpr int kMostUnits = 16;

// `alone` has each number of `exact` rounded by itself, and is returned where nothing around it is better, where one of `exact` is not
// finite, is beyond the range or becomes zero, and where a or b cannot be computed. Numbers that differ from `alone` are normal numbers of
// `low`, kF16 or kBF16. Of candidates as good as each other the nearest is taken.
NormChannel RoundJointly(const NormChannel& exact, const NormChannel& alone, const NormRetyped& retyped, float epsilon, DType low);

}  // namespace ampc
