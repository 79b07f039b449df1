#include "tools/picture/rows.h"

#include <algorithm>

namespace ampc {
namespace {

constexpr int kOrderSweeps = 8;
constexpr int kPlaceSweeps = 16;

struct Links {
  std::vector<std::vector<int>> above, below;
};

// Sorts a row by the mean place of what its boxes are linked with; a box without links keeps its place.
void Order(const std::vector<std::vector<int>>& neighbours, std::vector<double>* place, std::vector<int>* row) {
  std::vector<std::pair<double, int>> keys;
  for (const int i : *row) {
    double sum = 0;
    for (const int j : neighbours[i]) sum += (*place)[j];
    keys.emplace_back(neighbours[i].empty() ? (*place)[i] : sum / neighbours[i].size(), i);
  }
  std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t k = 0; k < keys.size(); ++k) {
    (*row)[k] = keys[k].second;
    // Relative to the middle: rows differ in length.
    (*place)[keys[k].second] = static_cast<double>(k) - (static_cast<double>(keys.size()) - 1) / 2;
  }
}

// The places nearest to the wanted ones (least squares) that keep the order and the gaps: pooling of adjacent violators.
void Separate(const std::vector<int>& row, const std::vector<double>& wanted, const std::vector<double>& weight, double gap,
              std::vector<LayoutBox>* boxes) {
  struct Pool {
    double sum, weight;
    int count;
    double mean() const { return sum / weight; }
  };
  std::vector<double> offset(row.size(), 0);
  for (size_t k = 1; k < row.size(); ++k) offset[k] = offset[k - 1] + ((*boxes)[row[k - 1]].width + (*boxes)[row[k]].width) / 2 + gap;
  std::vector<Pool> pools;
  for (size_t k = 0; k < row.size(); ++k) {
    pools.push_back({(wanted[k] - offset[k]) * weight[k], weight[k], 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().weight += last.weight;
      pools.back().count += last.count;
    }
  }
  size_t k = 0;
  for (const Pool& pool : pools) {
    for (int i = 0; i < pool.count; ++i, ++k) (*boxes)[row[k]].x = pool.mean() + offset[k];
  }
}

void PlaceRow(const Links& links, bool use_above, bool use_below, int num_nodes, double gap, const std::vector<int>& row,
              std::vector<LayoutBox>* boxes) {
  std::vector<double> wanted, weight;
  for (const int i : row) {
    double sum = 0;
    int count = 0;
    const auto add = [&](const std::vector<int>& neighbours) {
      for (const int j : neighbours) sum += (*boxes)[j].x;
      count += static_cast<int>(neighbours.size());
    };
    if (use_above) add(links.above[i]);
    if (use_below) add(links.below[i]);
    wanted.push_back(count > 0 ? sum / count : (*boxes)[i].x);
    weight.push_back(count == 0 ? 0.1 : i >= num_nodes ? 4 : 1);
  }
  Separate(row, wanted, weight, gap, boxes);
}

// A box under the only box that it hangs on goes right below it where there is room, so that chains are straight.
void Straighten(const Links& links, int num_nodes, double gap, const std::vector<int>& row, std::vector<LayoutBox>* boxes) {
  std::vector<double> wanted, weight;
  for (const int i : row) {
    const bool chain = links.above[i].size() == 1 && (links.below[links.above[i][0]].size() == 1 || links.above[links.above[i][0]].empty());
    wanted.push_back(chain ? (*boxes)[links.above[i][0]].x : (*boxes)[i].x);
    weight.push_back(i >= num_nodes ? 4 : 1);
  }
  Separate(row, wanted, weight, gap, boxes);
}

}  // namespace

void ArrangeRows(std::vector<std::vector<int>>& rows, absl::Span<const std::pair<int, int>> edges, int num_nodes, double gap,
                 std::vector<LayoutBox>* boxes) {
  Links links;
  links.above.resize(boxes->size());
  links.below.resize(boxes->size());
  for (const auto& [upper, lower] : edges) {
    links.below[upper].push_back(lower);
    links.above[lower].push_back(upper);
  }
  std::vector<double> place(boxes->size(), 0);
  for (const std::vector<int>& row : rows) {
    for (size_t k = 0; k < row.size(); ++k) place[row[k]] = static_cast<double>(k) - (static_cast<double>(row.size()) - 1) / 2;
  }
  for (int sweep = 0; sweep < kOrderSweeps; ++sweep) {
    for (size_t r = 0; r < rows.size(); ++r) {
      sweep % 2 == 0 ? Order(links.above, &place, &rows[r]) : Order(links.below, &place, &rows[rows.size() - 1 - r]);
    }
  }
  for (const std::vector<int>& row : rows) {
    Separate(row, std::vector<double>(row.size(), 0), std::vector<double>(row.size(), 1), gap, boxes);
  }
  for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
    const bool last = sweep >= kPlaceSweeps - 2;  // both sides count in the end
    for (size_t r = 0; r < rows.size(); ++r) {
      const bool down = sweep % 2 == 0;
      PlaceRow(links, down || last, !down || last, num_nodes, gap, rows[down ? r : rows.size() - 1 - r], boxes);
    }
  }
  for (const std::vector<int>& row : rows) Straighten(links, num_nodes, gap, row, boxes);
}

}  // namespace ampc
