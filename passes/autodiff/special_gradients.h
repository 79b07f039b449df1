// Gradients that are ordinary ops: of `scale` a scale, of `cast` a cast, of `split` a concat.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/op.h"

namespace ampc {

// One op to append: its operands by slot, its attributes; its first result is the gradient of the flat operand `operand`.
struct SpecialGradient {
  int operand = 0;
  std::vector<std::pair<std::string, std::vector<Var*>>> inputs;
  std::vector<Attr> attrs;
};

// True where the record of `forward` names as its gradient an op that is no gradient op.
bool HasSpecialGradient(const Op& forward);

// One entry per flat operand in `wanted`. `gradients` are those of the results, none of them null.
std::vector<SpecialGradient> SpecialGradients(const Op& forward, absl::Span<Var* const> gradients, absl::Span<const int> wanted);

}  // namespace ampc
