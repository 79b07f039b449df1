// Layouts: which values lie channels-last in memory, and where a conversion is needed.
#pragma once

#include "kernels/kernel.h"
#include "runtime/plan/specialize.h"

namespace ampc {

// Walks the ops once. On a device 4-D f16 and bf16 values take part, on the CPU all 4-D and 5-D floats. Convolutions make channels-last
// results; ops that take any layout follow their operands, joins and cuts among them; permutations read either; a conversion of types that
// only convolutions read makes what they would otherwise transpose; before an op that needs another layout a conversion is put, once per
// value: an OpInstance without an op. Fetched values end up plain; an op that enlarges what is only fetched then reads its operand so. Sets
// Specialized::descs[..].layout and rewrites ops, fetches and (for constants) values.
absl::Status AssignLayouts(const PlanContext& context, Specialized& s);

}  // namespace ampc
