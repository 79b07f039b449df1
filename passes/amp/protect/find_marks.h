// FindMarks: which ops of a program the rules of protect mark.
#pragma once

#include <vector>

#include "passes/amp/protect/visit.h"

namespace ampc {

// The effect of a rule at an op: how a test sees that a rule starts, passes and ends where it should.
struct RuleStep {
  const Op* op;
  int rule;  // index of its row
  Effect step;
};

// `rules`: bits of the rows that may mark. Finds the facts. `steps` may be null.
Marks FindMarks(Facts& facts, uint32_t rules, std::vector<RuleStep>* steps);

}  // namespace ampc
