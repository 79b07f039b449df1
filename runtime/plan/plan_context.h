// PlanContext: what all plans of a program share.
#pragma once

#include "kernels/kernel_registry.h"
#include "runtime/plan/constants.h"
#include "runtime/plan/liveness.h"
#include "runtime/plan/plan_target.h"
#include "runtime/plan/state_table.h"

namespace ampc {

// The plan of a whole program reads and overwrites the variables of `states` in their memory; an inner range is given them like any value
// and gives them back.
struct PlanContext {
  const Program& program;
  const Constants& constants;
  const Liveness& liveness;
  const KernelRegistry& kernels;
  WeightCache* weights = nullptr;    // may be null
  KernelChoices* choices = nullptr;  // may be null
  int threads = 1;
  const StateTable* states = nullptr;  // may be null: then states are written for the rest of the run only
  bool excess_precision = false;  // on the CPU a low value that no state, range or fetch takes over keeps what float32 computed, unless
                                  // the plan stores it as a half (storage_plan.h)
  bool in_place = true;           // a result may take the memory of an operand that dies
  bool fuse = true;               // for ops that are lowered while the program runs: they may be joined
  const PlanTarget* target = nullptr;  // null: the CPU. Otherwise `kernels` fold constants and stand in for what the device lacks
};

}  // namespace ampc
