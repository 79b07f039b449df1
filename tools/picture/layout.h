// LayOut: places the nodes of a graph in rows, top down, and wraps a long graph into columns, left to right.
//
// Edges between neighbouring rows are curves; those that leave their column or span many rows run between the rows and beside
// the columns. Deterministic; time is linear in nodes and edges but for sorting.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace ampc {

struct LayoutBox {  // in: width and height; out: the rest
  double width = 0;
  double height = 0;
  double x = 0;  // centre
  double y = 0;
};

struct LayoutOptions {
  double aspect = 1.35;  // of the window, width to height
  double window_height = 680;
  double row_gap = 26;  // between the boxes of two rows
  double box_gap = 18;  // between the boxes of one row
  double lane_gap = 5;  // between edges that run side by side
};

struct Layout {
  std::vector<LayoutBox> boxes;
  std::vector<std::string> paths;  // of the edges: the `d` of an SVG path
  double width = 0, height = 0;    // everything lies in [0, width] x [0, height]
};

// An edge {from, to} has from < to.
Layout LayOut(std::vector<LayoutBox> boxes, absl::Span<const std::pair<int, int>> edges, const LayoutOptions& options = {});

}  // namespace ampc
