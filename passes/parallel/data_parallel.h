// data-parallel: makes a step of training one process's part of a step that several processes take together.
//
//   w@GRAD = .. op_role=1                              w@GRAD = .. op_role=1
//   check_finite_and_unscale(X=w@GRAD, ..)    ->       c_allreduce_sum(X=w@GRAD) -> Out=w@GRAD.1 average=true op_role=2
//                                                      check_finite_and_unscale(X=w@GRAD.1, ..)
//
// Each gradient that an op of the optimizer part reads is replaced by its mean over the processes, as it comes from the backward part: low
// and still scaled, as in Paddle. The mean is computed in fp32, so it is finite exactly where all processes' gradients are (except an fp32
// sum beyond the type's range), and whether a step is skipped is the logical or over the processes without a word about it. Being
// part of the optimizer, the exchange runs once per window of gradient accumulation.
// States that the forward part writes and that are floats - the moving statistics of batch_norm, which each process takes from its own
// share of the batch - become their mean too, so that all processes keep the same values. A random op reads its seed moved by rank * 2^20:
// each process drops other elements, while the seed itself stays the same on all. Option: rank (default 0). One process gets the same
// values with and without. O(program).
#pragma once

#include "absl/status/statusor.h"
#include "graph/program.h"
#include "passes/pass.h"

namespace ampc {

// Returns whether anything changed.
absl::StatusOr<bool> MakeDataParallel(int rank, Program& program);

PassInfo DataParallelPass();

}  // namespace ampc
