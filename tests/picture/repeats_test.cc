#include "tools/picture/repeats.h"

#include <string>

#include <gtest/gtest.h>

namespace ampc {
namespace {

// One token per letter; parting costs nothing anywhere.
std::vector<Repeat> Find(const std::string& letters, std::vector<int> cut = {}, int max_period = 256) {
  const std::vector<uint64_t> tokens(letters.begin(), letters.end());
  if (cut.empty()) cut.assign(tokens.size(), 0);
  return FindRepeats(tokens, cut, max_period);
}

TEST(Repeats, NothingRepeats) {
  EXPECT_TRUE(Find("").empty());
  EXPECT_TRUE(Find("a").empty());
  EXPECT_TRUE(Find("abcdefg").empty());
}

TEST(Repeats, ShortRunsStay) {
  EXPECT_TRUE(Find("xaay").empty());
  EXPECT_TRUE(Find("xaaay").empty());
  EXPECT_EQ(Find("xaaaay"), (std::vector<Repeat>{{1, 1, 4}}));
}

TEST(Repeats, TheShortestPeriodCounts) { EXPECT_EQ(Find("xababababy"), (std::vector<Repeat>{{1, 2, 4}})); }

TEST(Repeats, TheRunThatCoversMostWins) {
  // Four a's in each block, but the blocks repeat, too.
  EXPECT_EQ(Find("aaaabaaaabaaaab"), (std::vector<Repeat>{{0, 5, 3}}));
}

TEST(Repeats, SeveralRuns) { EXPECT_EQ(Find("ababxcdcdcdyaaaa"), (std::vector<Repeat>{{0, 2, 2}, {5, 2, 3}, {12, 1, 4}})); }

TEST(Repeats, BeginsWhereACutIsCheap) {
  // Two whole blocks fit in three ways.
  EXPECT_EQ(Find("cabcabca", {5, 5, 1, 5, 5, 5, 5, 5}), (std::vector<Repeat>{{2, 3, 2}}));
  EXPECT_EQ(Find("cabcabca", {5, 1, 5, 5, 5, 5, 5, 5}), (std::vector<Repeat>{{1, 3, 2}}));
}

TEST(Repeats, WhatALargerRunCutOffIsLookedAtAgain) {
  // The run of a's reaches from inside the blocks to behind them.
  EXPECT_EQ(Find("xyaaxyaaaaaa"), (std::vector<Repeat>{{0, 4, 2}, {8, 1, 4}}));
}

TEST(Repeats, LongPeriodsAreLeftAlone) {
  const std::string block = "abcdefgh";
  EXPECT_EQ(Find(block + block).size(), 1u);
  EXPECT_TRUE(Find(block + block, {}, 7).empty());
}

}  // namespace
}  // namespace ampc
