#include "runtime/plan/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "graph/base/aligned.h"

namespace ampc {
namespace {

// Programs of many steps are planned in the order of the steps with a free list: O(n log n) where the greedy by size would
// compare all pairs.
constexpr size_t kGreedyLimit = 4096;

MemoryPlan GreedyBySize(const std::vector<LiveRange>& ranges) {
  std::vector<int> order(ranges.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return ranges[a].bytes > ranges[b].bytes; });
  MemoryPlan plan;
  plan.offsets.assign(ranges.size(), 0);
  std::vector<int> by_offset;  // placed ranges, sorted by offset
  for (int r : order) {
    const int64_t need = Aligned(ranges[r].bytes);
    if (need == 0) continue;
    int64_t best = -1;
    int64_t best_gap = INT64_MAX;
    int64_t end = 0;  // first byte behind the overlapping ranges seen so far
    for (int p : by_offset) {
      if (ranges[p].last < ranges[r].first || ranges[r].last < ranges[p].first) continue;
      const int64_t gap = plan.offsets[p] - end;
      if (gap >= need && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, plan.offsets[p] + Aligned(ranges[p].bytes));
    }
    plan.offsets[r] = best >= 0 ? best : end;
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[r] + need);
    const auto less = [&](int a, int b) { return plan.offsets[a] < plan.offsets[b]; };
    by_offset.insert(std::upper_bound(by_offset.begin(), by_offset.end(), r, less), r);
  }
  return plan;
}

MemoryPlan BestFitInOrder(const std::vector<LiveRange>& ranges) {
  std::vector<int> starts(ranges.size());
  std::iota(starts.begin(), starts.end(), 0);
  std::vector<int> ends = starts;
  std::stable_sort(starts.begin(), starts.end(), [&](int a, int b) { return ranges[a].first < ranges[b].first; });
  std::stable_sort(ends.begin(), ends.end(), [&](int a, int b) { return ranges[a].last < ranges[b].last; });
  MemoryPlan plan;
  plan.offsets.assign(ranges.size(), 0);
  std::multimap<int64_t, int64_t> free_by_size;  // size -> offset; blocks are not merged
  size_t e = 0;
  for (int r : starts) {
    for (; e < ends.size() && ranges[ends[e]].last < ranges[r].first; ++e) {
      const int64_t bytes = Aligned(ranges[ends[e]].bytes);
      if (bytes > 0) free_by_size.emplace(bytes, plan.offsets[ends[e]]);
    }
    const int64_t need = Aligned(ranges[r].bytes);
    if (need == 0) continue;
    auto it = free_by_size.lower_bound(need);
    if (it == free_by_size.end()) {
      plan.offsets[r] = plan.arena_bytes;
      plan.arena_bytes += need;
      continue;
    }
    plan.offsets[r] = it->second;
    if (it->first > need) free_by_size.emplace(it->first - need, it->second + need);
    free_by_size.erase(it);
  }
  return plan;
}

}  // namespace

MemoryPlan PlanMemory(const std::vector<LiveRange>& ranges) {
  return ranges.size() <= kGreedyLimit ? GreedyBySize(ranges) : BestFitInOrder(ranges);
}

}  // namespace ampc
