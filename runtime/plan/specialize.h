// Specialize: a range of ops with concrete feed dims. Inference runs op by op with known values, and what depends only on
// constants and shapes (shape arithmetic, reshaped weights) is computed right there, so that dynamic dims become numbers.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/kernel.h"
#include "runtime/plan/op_range.h"
#include "runtime/plan/plan_context.h"

namespace ampc {

// A feed as far as it is known before the run; refers to what it is made of.
struct KnownFeed {
  absl::Span<const int64_t> dims;
  const HostTensor* value = nullptr;  // null unless what is made holds for this value alone; a plan's is in storage type
};

// How far what is known of the feeds takes a program, or a range of its ops, and with it what is tried next.
enum class Outcome : uint8_t {
  kPlan,         // to the end: one plan runs it
  kSplitHere,    // up to an op that no plan holds, or whose dims follow from values that are computed: plans in front of it and behind it
  kNeedsValues,  // not past its first op, whose dims follow from the values of operands: a plan of this op alone, for these values
  kNeedsShapes,  // not to native ops: a program is lowered again for the shapes of its feeds (runtime/exec/model_runner.h)
};

// A value of one run: each variable is one, and each time that a param, state or carry is written again is another.
using ValueId = int;

struct OpInstance {
  const Op* op = nullptr;       // null: a conversion between layouts, put in by AssignLayouts
  std::vector<ValueId> inputs;  // flat order
  std::vector<ValueId> outputs;
};

struct Specialized {
  OpRange range;                          // with the end that was reached, and its fetches
  Outcome outcome = Outcome::kPlan;       // never kNeedsShapes
  absl::Status stopped;                   // why range.end lies in front of the end that was asked for
  std::vector<TensorDesc> descs;          // by ValueId; empty for values that no run computes
  std::vector<const HostTensor*> values;  // by ValueId; storage type, or a constant's half; null: computed at run time
  std::vector<OpInstance> ops;            // what remains to run, in order
  std::vector<ValueId> fetches;           // as range.fetches
  std::deque<HostTensor> folded;          // owns the values that were computed here
  std::vector<HostTensor*> states;        // by ValueId: the memory of the state that the value is a version of; null for others

  // The same for values that were added later, which are no states.
  HostTensor* StateOf(ValueId v) const { return static_cast<size_t>(v) < states.size() ? states[v] : nullptr; }
};

// `feeds` follow range.feeds; a feed's ValueId is its Var::id. Stops in front of the first op with a result whose dims do not
// follow from what is known: an inner range ends there, a whole program has nothing to run then. Errors: dims that an op
// refuses (usage, exit code 2: the feeds do not fit the model), an op without a kernel (unsupported, exit code 4).
absl::StatusOr<Specialized> Specialize(const PlanContext& context, OpRange range, absl::Span<const KnownFeed> feeds);

// "there is no cpu kernel for this op", exit code 4.
absl::Status NoKernel(const Op& op);

// The spec of one op under these descs and values, for the CPU; constants that stay halves are given as such (ReadInStorage).
KernelSpec SpecOf(const OpInstance& op, const Specialized& s, const PlanContext& context);
// Gives a kernel in storage type what its spec does not declare a half; per operand, what owns that, or null.
absl::StatusOr<std::vector<std::shared_ptr<const HostTensor>>> ReadInStorage(const PlanContext& context, KernelSpec* spec);

}  // namespace ampc
