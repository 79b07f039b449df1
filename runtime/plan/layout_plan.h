// Layouts: which values lie channels-last in memory, and where a conversion is needed.
#pragma once

#include "kernels/kernel.h"
#include "runtime/plan/specialize.h"

namespace ampc {

// Walks the ops once. Convolutions make channels-last results; ops that take any layout follow their operands; before an op
// that needs another layout a conversion is put, once per value: an OpInstance without an op. Fetched values end up plain.
// Sets Specialized::descs[..].layout and rewrites ops, fetches and (for constants) values.
absl::Status AssignLayouts(const PlanContext& context, Specialized& s);

// True where both orders put every element at the same place.
bool SameInBothLayouts(const Dims& dims);

}  // namespace ampc
