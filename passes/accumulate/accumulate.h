// Gradient accumulation: a training program as two, one that adds gradients up and one that uses their mean.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/program.h"

namespace ampc {

struct AccumulatingProgram {
  // Every op whose op_role is neither Optimize nor the learning rate's; then adds each gradient that the others read to a state of its
  // own, in f32 (f64 for an f64 gradient).
  Program micro;
  // The others, on the sums divided by k, in the gradients' types; then the sums become zero. An infinity or NaN of any of the k
  // calls is in the sum, so that whatever skips an update on overflow skips this one.
  Program update;
  std::vector<std::string> sums;  // names of the states, new in both programs
  std::vector<int> update_feeds;  // feeds of `update`, as indexes into those of `micro`, which are those of `main`
};

// Fetches of temps go to the program that computes them; of params and states, to both. Errors: usage when nothing has the role
// Optimize; exit code 4 where those ops read results of the others that are no gradients (op_role Backward, float, known dims).
absl::StatusOr<AccumulatingProgram> SplitForAccumulation(const Program& main, int k);

}  // namespace ampc
