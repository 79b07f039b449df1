#include "runtime/plan/memory_plan.h"
#include "graph/base/aligned.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ampc {
namespace {

// Overlapping in time means disjoint in memory, and everything lies in the arena.
void ExpectValid(const std::vector<LiveRange>& ranges, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), ranges.size());
  for (size_t a = 0; a < ranges.size(); ++a) {
    EXPECT_EQ(plan.offsets[a] % 64, 0);
    EXPECT_LE(plan.offsets[a] + ranges[a].bytes, plan.arena_bytes);
    for (size_t b = a + 1; b < ranges.size(); ++b) {
      const bool same_time = ranges[a].first <= ranges[b].last && ranges[b].first <= ranges[a].last;
      const bool same_bytes = plan.offsets[a] < plan.offsets[b] + ranges[b].bytes && plan.offsets[b] < plan.offsets[a] + ranges[a].bytes;
      EXPECT_FALSE(same_time && same_bytes) << a << " and " << b;
    }
  }
}

std::vector<LiveRange> RandomRanges(int n, int steps, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<LiveRange> ranges;
  for (int i = 0; i < n; ++i) {
    const int first = static_cast<int>(random() % steps);
    const int last = std::min(steps - 1, first + static_cast<int>(random() % 6));
    ranges.push_back({static_cast<int64_t>(random() % 5000), first, last});
  }
  return ranges;
}

TEST(PlanMemory, NothingNeedsNothing) { EXPECT_EQ(PlanMemory({}).arena_bytes, 0); }

TEST(PlanMemory, ChainUsesTwoBuffers) {
  std::vector<LiveRange> chain;
  for (int i = 0; i < 10; ++i) chain.push_back({1000, i, i + 1});
  const MemoryPlan plan = PlanMemory(chain);
  ExpectValid(chain, plan);
  EXPECT_EQ(plan.arena_bytes, 2 * Aligned(1000));
}

TEST(PlanMemory, BuffersOfOneTimeLieSideBySide) {
  const std::vector<LiveRange> ranges = {{64, 0, 3}, {64, 1, 2}, {64, 3, 3}, {64, 4, 4}};
  const MemoryPlan plan = PlanMemory(ranges);
  ExpectValid(ranges, plan);
  EXPECT_EQ(plan.arena_bytes, 128);
}

TEST(PlanMemory, RandomRangesNeverClash) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<LiveRange> ranges = RandomRanges(200, 60, seed);
    ExpectValid(ranges, PlanMemory(ranges));
  }
}

// Long programs take the other algorithm; it must be as right, and reuse.
TEST(PlanMemory, LongProgramsNeverClashAndReuse) {
  const std::vector<LiveRange> ranges = RandomRanges(5000, 3000, 7);
  const MemoryPlan plan = PlanMemory(ranges);
  std::vector<size_t> order(ranges.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ranges[a].first < ranges[b].first; });
  int64_t total = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t a = order[i];
    total += Aligned(ranges[a].bytes);
    for (size_t k = i + 1; k < order.size() && ranges[order[k]].first <= ranges[a].last; ++k) {
      const size_t b = order[k];
      EXPECT_TRUE(plan.offsets[a] + ranges[a].bytes <= plan.offsets[b] || plan.offsets[b] + ranges[b].bytes <= plan.offsets[a]);
    }
  }
  EXPECT_LT(plan.arena_bytes, total / 10);
}

}  // namespace
}  // namespace ampc
