// BuildPlan: from a range of ops and the dims of its feeds to an execution plan.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/execution_plan.h"

namespace ampc {

// Binds kernels, aliases and reuses buffers in place, places them in the arena. Ops run in program order, so an op that reads a state
// sees what was written last before it; a value that only shares the state's memory is copied where it outlives the next write.
// A kernel whose op has several results, one of which overwrites the state that an operand is (ParamOut), is given one memory for
// both and must read an element before it writes it. An op with one result gets memory of its own unless its in_place_input says
// that it may share. `feeds` follow range.feeds. A plan that had to
// stop (Specialized::stopped) runs as far as its range.end; one of a whole program has no steps then. Errors as Specialize, plus
// those of kernels.
absl::StatusOr<std::unique_ptr<const ExecutionPlan>> BuildPlan(const PlanContext& context, OpRange range,
                                                               absl::Span<const KnownFeed> feeds);

}  // namespace ampc
