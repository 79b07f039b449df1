// The cheapest choice against all choices.
#include "passes/analysis/min_cut.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace ampc {
namespace {

// The cost of the best choice, and the most yes of a choice of that cost.
std::pair<int64_t, int> BestOf(const MinCut& cut, int variables) {
  std::pair<int64_t, int> best = {std::numeric_limits<int64_t>::max(), 0};
  for (int bits = 0; bits < 1 << variables; ++bits) {
    std::vector<bool> choice(variables);
    int yes = 0;
    for (int v = 0; v < variables; ++v) {
      choice[v] = (bits >> v & 1) != 0;
      yes += choice[v] ? 1 : 0;
    }
    const int64_t cost = cut.CostOf(choice);
    if (cost < best.first || (cost == best.first && yes > best.second)) best = {cost, yes};
  }
  return best;
}

TEST(MinCut, IsTheCheapestOfAllChoices) {
  std::mt19937 random(25);
  const auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 3000; ++round) {
    const int variables = 1 + below(round % 100 == 0 ? 16 : 9);
    MinCut cut;
    for (int v = 0; v < variables; ++v) cut.Add(below(20), below(3) == 0 ? 1000000 : below(20));
    for (int pairs = below(2 * variables + 1); pairs > 0; --pairs) {
      const int a = below(variables), b = below(variables);
      below(5) == 0 ? cut.Require(a, b) : cut.AddPair(a, b, below(20));
    }
    const std::vector<bool> choice = cut.Solve();
    const std::pair<int64_t, int> best = BestOf(cut, variables);
    ASSERT_EQ(cut.CostOf(choice), best.first) << "round " << round;
    ASSERT_EQ(std::count(choice.begin(), choice.end(), true), best.second) << "round " << round;
  }
}

// Ways from one end to the other, which an algorithm that looks for one after the other takes quadratic time for: this ends, or times out.
TEST(MinCut, TakesLongChains) {
  constexpr int kVariables = 1000000;
  MinCut cut;
  for (int v = 0; v < kVariables; ++v) cut.Add(v + 1 == kVariables ? kVariables * int64_t{100} : 0, v == 0 ? kVariables : 1);
  for (int v = 0; v + 1 < kVariables; ++v) {
    cut.AddPair(v, v + 1, 3 * kVariables);
    cut.AddPair(v + 1, v, 3 * kVariables);
  }
  const std::vector<bool> choice = cut.Solve();
  EXPECT_EQ(std::count(choice.begin(), choice.end(), true), 0) << "all at one end";
}

TEST(MinCut, HasNoVariables) { EXPECT_TRUE(MinCut().Solve().empty()); }

}  // namespace
}  // namespace ampc
