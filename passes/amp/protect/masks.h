// Masks: constants beyond the range that only decide which elements of a softmax count.
//
//   m = cast(mask)                          zero or one
//   k = elementwise_mul(m, -1e9)            -1e9 is stored as the type's lowest finite value, less what scores may add to it
//   s = elementwise_add(scores, k)          stays in the range
//   p = softmax(s)                          exp gives 0 for both
//
// Recognised are where(c, x, k) and x + k, in any order and sign, k made by moves, where(c, 0, k) and factors of 0 and 1, up to softmax,
// arg_max and exp. Nothing else may see the constant or what is made of it, and the scores have to be bounded, by proof or measurement.
#pragma once

#include "passes/amp/protect/facts.h"
#include "passes/amp/protect/mask_constants.h"

namespace ampc {

// Finds the facts where there is a constant to ask about. O(program).
MaskConstants FindMasks(Facts& facts);
// Has them stored: of those that lead to a low op. These say so in their reasons.
void StoreMasks(const MaskConstants& masks, const Program& program, AmpDecision* decision);

}  // namespace ampc
