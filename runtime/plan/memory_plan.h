// Memory plan: where each temporary lies in one arena.
#pragma once

#include <cstdint>
#include <vector>

namespace ampc {

// A buffer that must exist during steps [first, last], both included.
struct LiveRange {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // per range; multiples of 64
  int64_t arena_bytes = 0;
};

// Two buffers share bytes only if their live ranges do not overlap. Greedy best fit over the buffers sorted by size
// (largest first, then by first step): the "greedy by size" of Pisarchyk and Lee, arXiv:2001.03288; each buffer is checked
// only against the placed ones that it overlaps in time.
MemoryPlan PlanMemory(const std::vector<LiveRange>& ranges);

}  // namespace ampc
