// GradientExchange: how the processes of one training share their gradients.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"

namespace ampc {

// A training on several processes, each with its own batches of the same size: the update uses the mean of all ranks' gradients, so it
// is the same everywhere, and an overflow on one rank skips it on all. Statistics of batch_norm stay those of the rank.
struct GradientExchange {
  int ranks = 1;
  // Adds each tensor (f32 or f64) up over all ranks, in place, to the same bits everywhere. Every rank calls it in front of each
  // update, with the same list. Needed when ranks > 1.
  std::function<absl::Status(absl::Span<HostTensor* const> sums)> all_reduce = nullptr;
};

}  // namespace ampc
