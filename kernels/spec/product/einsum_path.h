// In which order an einsum of more than two operands is computed: each operand without the labels that only it has, then pair by pair.
#pragma once

#include <array>
#include <vector>

#include "kernels/spec/product/einsum_spec.h"

namespace ampc {

// One step: `equation` of one or two operands. Inputs are counted over the operands of the whole and then the results of the steps; -1:
// none.
struct EinsumStep {
  Equation equation;
  std::array<int, 2> inputs = {-1, -1};
};

// The last step's result is that of `e`, the others' are dense in the order of their equations. Each time the pair is taken whose product
// has the fewest terms.
std::vector<EinsumStep> EinsumPath(const Equation& e);

}  // namespace ampc
