// The loss scales of a training program and the learning rates of its optimizers: the values that logs show of a step.
#pragma once

#include <string>
#include <vector>

#include "graph/program.h"

namespace ampc {

struct ScalerView {
  const Var* scale = nullptr;
  std::vector<const Var*> found;  // flags [1]; the update was skipped where one is set
  double floor = 0;               // the scale does not fall below; 0: it is fixed
};

// One per scale variable, in program order: that of each update_loss_scaling op, with its flag; then those that only
// check_finite_and_unscale ops read, with the flags of them all.
std::vector<ScalerView> FindScalers(const Program& program);

// The learning rates of ops with a Param and a LearningRate, each variable once, in program order.
std::vector<const Var*> FindLearningRates(const Program& program);

}  // namespace ampc
