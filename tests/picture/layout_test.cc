#include "tools/picture/layout.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace ampc {
namespace {

using Edges = std::vector<std::pair<int, int>>;

Layout Of(int nodes, const Edges& edges) { return LayOut(std::vector<LayoutBox>(nodes, LayoutBox{100, 40}), edges); }

bool Overlap(const LayoutBox& a, const LayoutBox& b) {
  return std::abs(a.x - b.x) < (a.width + b.width) / 2 - 1e-6 && std::abs(a.y - b.y) < (a.height + b.height) / 2 - 1e-6;
}

void ExpectTidy(const Layout& layout, size_t num_edges) {
  for (size_t i = 0; i < layout.boxes.size(); ++i) {
    const LayoutBox& box = layout.boxes[i];
    EXPECT_GE(box.x - box.width / 2, 0) << i;
    EXPECT_GE(box.y - box.height / 2, 0) << i;
    EXPECT_LE(box.x + box.width / 2, layout.width) << i;
    EXPECT_LE(box.y + box.height / 2, layout.height) << i;
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(Overlap(box, layout.boxes[j])) << i << " and " << j;
  }
  ASSERT_EQ(layout.paths.size(), num_edges);
  for (const std::string& path : layout.paths) EXPECT_EQ(path[0], 'M');
}

Edges Chain(int nodes) {
  Edges edges;
  for (int i = 0; i + 1 < nodes; ++i) edges.emplace_back(i, i + 1);
  return edges;
}

TEST(Layout, OfNothing) { ExpectTidy(Of(0, {}), 0); }

TEST(Layout, OneBox) { ExpectTidy(Of(1, {}), 0); }

TEST(Layout, AChainIsStraight) {
  const Layout layout = Of(6, Chain(6));
  ExpectTidy(layout, 5);
  for (int i = 1; i < 6; ++i) {
    EXPECT_DOUBLE_EQ(layout.boxes[i].x, layout.boxes[0].x);
    EXPECT_GT(layout.boxes[i].y, layout.boxes[i - 1].y);
  }
}

TEST(Layout, ADiamondIsSymmetric) {
  const Layout layout = Of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  ExpectTidy(layout, 4);
  EXPECT_DOUBLE_EQ(layout.boxes[1].y, layout.boxes[2].y);
  EXPECT_NEAR((layout.boxes[1].x + layout.boxes[2].x) / 2, layout.boxes[0].x, 1e-6);
  EXPECT_NEAR(layout.boxes[3].x, layout.boxes[0].x, 1e-6);
}

TEST(Layout, EdgesDoNotCrossWhereTheyNeedNot) {
  // Given crossed: 0 -> 3 and 1 -> 2.
  const Layout layout = Of(5, {{0, 3}, {1, 2}, {2, 4}, {3, 4}});
  EXPECT_EQ(layout.boxes[0].x < layout.boxes[1].x, layout.boxes[3].x < layout.boxes[2].x);
}

TEST(Layout, WhatHangsOnNothingStandsAboveItsReader) {
  // 5 is a constant that the last of the chain reads.
  Edges edges = Chain(5);
  edges.emplace_back(5, 6);
  edges.emplace_back(4, 6);
  const Layout layout = Of(7, edges);
  ExpectTidy(layout, edges.size());
  EXPECT_DOUBLE_EQ(layout.boxes[5].y, layout.boxes[4].y);
}

TEST(Layout, ALongChainIsWrappedIntoColumns) {
  const Layout layout = Of(120, Chain(120));
  ExpectTidy(layout, 119);
  EXPECT_LT(layout.height, 120 * 40.0 / 2);
  EXPECT_GT(layout.width / layout.height, 0.8);
  EXPECT_LT(layout.width / layout.height, 3.5);
}

TEST(Layout, EdgesOfAnyLengthStayInThePicture) {
  Edges edges = Chain(150);
  for (int i = 0; i + 70 < 150; i += 10) edges.emplace_back(i, i + 70);
  for (int i = 0; i + 5 < 150; i += 7) edges.emplace_back(i, i + 5);
  const Layout layout = Of(150, edges);
  ExpectTidy(layout, edges.size());
  for (const std::string& path : layout.paths) {
    EXPECT_EQ(path.find('-'), std::string::npos) << path;  // no coordinate is negative
    EXPECT_EQ(path.find("nan"), std::string::npos) << path;
  }
}

TEST(Layout, IsDeterministic) {
  Edges edges = Chain(90);
  for (int i = 0; i + 9 < 90; i += 4) edges.emplace_back(i, i + 9);
  const Layout a = Of(90, edges), b = Of(90, edges);
  EXPECT_EQ(a.paths, b.paths);
  for (size_t i = 0; i < a.boxes.size(); ++i) EXPECT_EQ(a.boxes[i].x, b.boxes[i].x);
}

}  // namespace
}  // namespace ampc
