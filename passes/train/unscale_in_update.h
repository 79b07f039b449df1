// unscale-in-update: an update divides its gradient by the loss scale itself, where it reads it, and the check only looks.
//
//   wide = cast(g)                                     found = check_finite_and_unscale(X=[g], Scale=s)
//   u, found = check_finite_and_unscale(X=[wide], s)   w <- sgd(w, g, lr, SkipUpdate=found, GradScale=s)
//   z, s <- update_loss_scaling(X=[u], found, s)  ->   s <- update_loss_scaling(X=[], found, s)
//   w <- sgd(w, z, lr, SkipUpdate=found)
//
// The same bits with a third of the memory traffic. A check goes this way as a whole: each of its results is wide, goes to one update only
// and that update skips what the check finds. If clipping or decay stands in between, or results are low (Paddle's way, which rounds
// there), the check stays as it is. For execution, before group-updates. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo UnscaleInUpdatePass();

}  // namespace ampc
