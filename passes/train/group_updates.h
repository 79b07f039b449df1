// group-updates: update ops that agree in everything but their parameter become one op, which a device runs in one launch.
//
//   w <- sgd(w, g, lr)                    w, v <- grouped_update(Param=[w, v], Grad=[g, h], LearningRate=lr) op="sgd"
//   v <- sgd(v, h, lr)              ->
//
// The squared_l2_norm ops of gradients become one grouped_squared_l2_norm likewise. Alike are the type of op, its attributes, the types of
// its operands, LearningRate, SkipUpdate and GradScale. The op stands where the last of its group stood; a group ends before an op that
// writes what it reads or writes, or reads what it writes, so every op sees the values it saw before. One update alone stays as it is, as
// do updates with operands that grouped_update has not (Beta1Tensor). For execution, after everything that looks for update ops.
// O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo GroupUpdatesPass();

}  // namespace ampc
