// PlanChoices: what a plan says of an op, where the op can be so.
#pragma once

#include <string>
#include <vector>

#include "passes/amp/decide/plan.h"

namespace ampc {

class PlanChoices {
 public:
  // Null: there is no plan.
  explicit PlanChoices(const PlannedOps* planned) : planned_(planned) {}

  // `otherwise`: the decision without the plan; `possible`: the op can be low.
  OpDecision Decide(const Op& op, bool possible, const OpDecision& otherwise);
  // After all ops: how many the plan does not know, and which it wants low in vain.
  void Report(std::vector<std::string>* notes) const;

 private:
  const PlannedOps* planned_;
  int unknown_ = 0, impossible_ = 0;
  std::string first_impossible_;
};

}  // namespace ampc
