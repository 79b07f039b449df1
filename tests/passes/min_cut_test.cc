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

// Layers in a row beside a value that each of them reads: what each is worth is small, what a border between them costs is large, so that
// whole stretches weigh against each other.
TEST(MinCut, TakesLongChainsWhoseLayersReadOneValue) {
  constexpr int kLayers = 50000;
  MinCut cut;
  const auto join = [&cut](int a, int b, bool any) {
    const int joined = cut.Add(0, 0);
    for (const int of : {a, b}) any ? cut.Require(of, joined) : cut.Require(joined, of);
    return joined;
  };
  const auto cast = [&cut](int made, int any, int all) {
    cut.AddPair(any, made, 5000000);
    cut.AddPair(made, all, 5000000);
  };
  const int first = cut.Add(5000000, 0);
  int last = first, any = -1, all = -1;
  for (int layer = 0; layer < kLayers; ++layer) {
    const int product = cut.Add(0, 2000), gate = cut.Add(300, 0), gated = cut.Add(300, 0), sum = cut.Add(300, 0);
    if (layer > 0) cast(last, product, product);
    cast(product, join(gate, gated, true), join(gate, gated, false));
    cast(gate, gated, gated);
    cast(gated, sum, sum);
    any = layer == 0 ? join(product, sum, true) : join(any, sum, true);
    all = layer == 0 ? join(product, sum, false) : join(all, sum, false);
    last = sum;
  }
  cast(first, any, all);
  const std::vector<bool> choice = cut.Solve();
  EXPECT_TRUE(choice[first]) << "layers are worth more low than the cast before the first costs";
  EXPECT_EQ(cut.CostOf(choice), 5000000 + int64_t{900} * kLayers);
}

// More variables side by side than are eliminated.
TEST(MinCut, TakesWideLayers) {
  constexpr int kWide = 16, kLayers = 200;
  MinCut cut;
  for (int v = 0; v < kWide * kLayers; ++v) cut.Add(v < kWide ? 0 : 2, v < kWide ? 1000 : 1);
  for (int v = kWide; v < kWide * kLayers; ++v) {
    for (int before = v / kWide * kWide - kWide, i = 0; i < kWide; ++i) cut.AddPair(before + i, v, i == v % kWide ? 3 : 1);
  }
  const std::vector<bool> choice = cut.Solve();
  EXPECT_EQ(std::count(choice.begin(), choice.end(), true), kWide) << "the border costs less than yes behind it";
}

TEST(MinCut, HasNoVariables) { EXPECT_TRUE(MinCut().Solve().empty()); }

}  // namespace
}  // namespace ampc
