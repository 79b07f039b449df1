// The adjoint of a broadcast: what every repeat of an element receives is added up, in double and in an order that depends on sizes only.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/cuda/move/offsets.h"

namespace ampc::cuda {

struct RepeatSumParams {
  DType type = DType::kF32;  // a float
  Offsets kept, summed;      // of the operand's elements; the result is dense over the kept ones
  int64_t results = 1, terms = 1;
  bool teams = false;  // terms of a result lie together: a team adds them
  int64_t parts = 1;   // each result's terms are added in so many parts; more than one need a workspace of parts * results doubles
};
int LaunchRepeatSum(void* stream, const RepeatSumParams& p, const void* from, void* to, void* workspace);

}  // namespace ampc::cuda
