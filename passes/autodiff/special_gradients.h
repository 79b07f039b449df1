// Gradients that are ordinary ops: of `scale` a scale, of `cast` a cast, of `split` a concat.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/op.h"

namespace ampc {

// The operands by slot and the attributes of the op that computes the gradient of one operand.
struct SpecialGradient {
  std::vector<std::pair<std::string, std::vector<Var*>>> inputs;
  std::vector<Attr> attrs;
};

// True where the record of `forward` names as its gradient an op that is no gradient op.
bool HasSpecialGradient(const Op& forward);

// The gradient of operand i needs the gradient of result i only; else those of all results.
bool PairsOperandsWithResults(const Op& forward);

// `gradients` are those of the results, in order; those that the gradient of the flat operand `operand` needs are not null.
SpecialGradient SpecialGradientOf(const Op& forward, absl::Span<Var* const> gradients, int operand);

}  // namespace ampc
