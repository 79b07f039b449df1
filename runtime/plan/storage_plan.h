// Storage: which bf16 values lie in memory in 16 bits, and which as the float32 that they are.
#pragma once

#include "graph/device_numbers.h"
#include "runtime/plan/specialize.h"

namespace ampc {

// After AssignLayouts, on the CPU, where `device` has instructions for bf16 and context.excess_precision lets a plan choose what is
// rounded. Values that ops only move from one to the other are a class, of one storage; so are values that a feed, a state or another
// range keeps in float32. A class is stored in 16 bits where that costs no more time by `device`:
//   a convolution or product reads float32   it is converted first, or multiplied as float32, whichever is faster
//   any other op that takes halves           bytes that it reads and writes, and what it widens and rounds on the way
//   an op that takes none (HalfSupport)      operands are widened and results rounded by a sweep of their own
// O(ops). Sets Specialized::descs[..].half; a constant that is moved is rounded here; a cast between float32 and a half becomes part of the
// element-wise ops beside it.
absl::Status AssignStorage(const PlanContext& context, const DeviceNumbers& device, Specialized& s);

}  // namespace ampc
