// Specialize: a region with concrete feed dims. Inference runs op by op with known values, and what depends only on
// constants and shapes (shape arithmetic, reshaped weights) is computed right there, so that dynamic dims become numbers.
#pragma once

#include <deque>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/kernel.h"
#include "runtime/plan/constants.h"
#include "runtime/plan/liveness.h"
#include "runtime/plan/plan_target.h"
#include "runtime/plan/region.h"
#include "runtime/plan/state_table.h"

namespace ampc {

// What all plans of a session share. The plan of a whole program reads and overwrites the variables of `states` in their memory; an
// inner region is given them like any value and gives them back.
struct PlanContext {
  const Program& program;
  const Constants& constants;
  const Liveness& liveness;
  const KernelRegistry& kernels;
  WeightCache* weights = nullptr;  // may be null
  int threads = 1;
  const StateTable* states = nullptr;  // may be null: then states are written for the rest of the run only
  bool excess_precision = false;  // on the CPU a low value that no state, region or fetch takes over keeps what float32 computed, unless
                                  // the plan stores it as a half (storage_plan.h)
  bool in_place = true;           // a result may take the memory of an operand that dies
  bool fuse = true;               // for ops that are lowered while the program runs: they may be joined
  const PlanTarget* target = nullptr;  // null: the CPU. Otherwise `kernels` fold constants and stand in for what the device lacks
};

// What is known of a feed before the run.
struct KnownFeed {
  std::vector<int64_t> dims;
  const HostTensor* value = nullptr;  // in storage type; null unless the plan holds for this value alone
};

// A value of one run: each variable is one, and each time that a param, state or carry is written again is another.
using ValueId = int;

struct OpInstance {
  const Op* op = nullptr;       // null: a conversion between layouts, put in by AssignLayouts
  std::vector<ValueId> inputs;  // flat order
  std::vector<ValueId> outputs;
};

struct Specialized {
  Region region;                          // with the end that was reached, and its fetches
  absl::Status stopped;                   // why region.end lies in front of the end that was asked for
  std::vector<TensorDesc> descs;          // by ValueId; empty for values that no run computes
  std::vector<const HostTensor*> values;  // by ValueId; storage type; null: computed at run time
  std::vector<OpInstance> ops;            // what remains to run, in order
  std::vector<ValueId> fetches;           // as region.fetches
  std::deque<HostTensor> folded;          // owns the values that were computed here
  std::vector<HostTensor*> states;        // by ValueId: the memory of the state that the value is a version of; null for others

  // The same for values that were added later, which are no states.
  HostTensor* StateOf(ValueId v) const { return static_cast<size_t>(v) < states.size() ? states[v] : nullptr; }
};

// `feeds` follow region.feeds; a feed's ValueId is its Var::id. Stops in front of the first op with a result whose dims do not
// follow from what is known: an inner region ends there, a whole program has nothing to run then. Errors: dims that an op
// refuses (usage, exit code 2: the feeds do not fit the model), an op without a kernel (unsupported, exit code 4).
absl::StatusOr<Specialized> Specialize(const PlanContext& context, Region region, absl::Span<const KnownFeed> feeds);

// "there is no cpu kernel for this op", exit code 4.
absl::Status NoKernel(const Op& op);

// The spec of one op under these descs and values, for the CPU.
KernelSpec SpecOf(const OpInstance& op, const Specialized& s, const PlanContext& context);

}  // namespace ampc
