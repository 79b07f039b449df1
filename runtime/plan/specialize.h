// Specialize: a program with concrete feed dims. Inference runs op by op with known values, and what depends only on
// constants and shapes (shape arithmetic, reshaped weights) is computed right there, so that dynamic dims become numbers.
#pragma once

#include <deque>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/kernel.h"
#include "runtime/plan/constants.h"

namespace ampc {

// A value of one run: each variable is one, and each time that a param, state or carry is written again is another.
using ValueId = int;

struct OpInstance {
  const Op* op = nullptr;        // null: a conversion between layouts, put in by AssignLayouts
  std::vector<ValueId> inputs;   // flat order
  std::vector<ValueId> outputs;
};

struct Specialized {
  std::vector<TensorDesc> descs;          // by ValueId; empty for values that no run computes
  std::vector<const HostTensor*> values;  // by ValueId; storage type; null: computed at run time
  std::vector<OpInstance> ops;            // what remains to run, in order
  std::vector<ValueId> fetches;           // as program.fetches
  std::deque<HostTensor> folded;          // owns the values that were computed here
};

// `feed_dims` follow program.feeds; a feed's ValueId is its Var::id. Errors: dims that an op refuses (usage, exit code 2: the
// feeds do not fit the model), an op without a kernel, a shape that depends on data, control flow (unsupported, exit code 4).
absl::StatusOr<Specialized> Specialize(const Program& program, const Constants& constants, const KernelRegistry& kernels,
                                       absl::Span<const std::vector<int64_t>> feed_dims, int threads);

// "there is no cpu kernel for this op", exit code 4.
absl::Status NoKernel(const Op& op);

// The spec of one op under these descs and values.
KernelSpec SpecOf(const OpInstance& op, const Specialized& s, int threads);

}  // namespace ampc
