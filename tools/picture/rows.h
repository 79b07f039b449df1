// ArrangeRows: in which order the boxes of a row stand, and where: few edges cross, and what is linked stands below each other.
#pragma once

#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "tools/picture/layout.h"

namespace ampc {

// Reorders the boxes of each row and sets their x. `links` connect boxes of neighbouring rows, upper first. Boxes from `num_nodes` on
// are bends of edges, which are kept straight.
void ArrangeRows(std::vector<std::vector<int>>& rows, absl::Span<const std::pair<int, int>> links, int num_nodes, double gap,
                 std::vector<LayoutBox>* boxes);

}  // namespace ampc
