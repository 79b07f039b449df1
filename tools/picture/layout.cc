#include "tools/picture/layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "tools/picture/rows.h"

namespace ampc {
namespace {

constexpr int kLongSpan = 12;  // rows; an edge over more of them runs beside the column
constexpr double kMargin = 16;

struct Route {
  std::vector<int> bends;  // boxes without size in the rows between
  bool beside = false;
};

class Layouter {
 public:
  // At most `rows` rows in a column, or a few more where few edges cross there.
  Layouter(std::vector<LayoutBox> boxes, absl::Span<const std::pair<int, int>> edges, std::vector<int> row_of, int rows,
           const LayoutOptions& options)
      : options_(options),
        num_nodes_(static_cast<int>(boxes.size())),
        edges_(edges),
        rows_per_column_(rows),
        boxes_(std::move(boxes)),
        row_(std::move(row_of)),
        routes_(edges.size()) {
    num_rows_ = num_nodes_ == 0 ? 0 : 1 + *std::max_element(row_.begin(), row_.end());
  }

  Layout Make() {
    Wrap();
    AddBends();
    Place();
    Layout out;
    DrawEdges(&out);
    boxes_.resize(num_nodes_);
    out.boxes = std::move(boxes_);
    return out;
  }

 private:
  // Splits the rows into columns, at places that few edges cross.
  void Wrap() {
    column_begin_ = {0};
    std::vector<int> crossing(num_rows_ + 1, 0);
    for (const auto& [from, to] : edges_) {
      ++crossing[row_[from] + 1];
      --crossing[row_[to] + 1];
    }
    std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
    const int rows = rows_per_column_;
    for (int begin = 0; num_rows_ - begin > rows * 5 / 4;) {
      int best = begin + rows;
      for (int row = begin + rows * 3 / 4; row <= begin + rows * 11 / 10; ++row) {
        if (std::make_pair(crossing[row], std::abs(row - begin - rows)) < std::make_pair(crossing[best], std::abs(best - begin - rows)))
          best = row;
      }
      column_begin_.push_back(best);
      begin = best;
    }
    column_begin_.push_back(num_rows_);
    column_of_row_.resize(num_rows_);
    for (size_t c = 0; c + 1 < column_begin_.size(); ++c)
      std::fill(column_of_row_.begin() + column_begin_[c], column_of_row_.begin() + column_begin_[c + 1], static_cast<int>(c));
  }

  void AddBends() {
    for (size_t e = 0; e < edges_.size(); ++e) {
      const auto& [from, to] = edges_[e];
      routes_[e].beside = column_of_row_[row_[from]] != column_of_row_[row_[to]] || row_[to] - row_[from] > kLongSpan;
      if (routes_[e].beside) continue;
      for (int row = row_[from] + 1; row < row_[to]; ++row) {
        routes_[e].bends.push_back(static_cast<int>(boxes_.size()));
        boxes_.push_back({1, 0, 0, 0});
        row_.push_back(row);
      }
    }
  }

  void Place() {
    std::vector<std::pair<int, int>> links;
    for (size_t e = 0; e < edges_.size(); ++e) {
      if (routes_[e].beside) continue;
      int last = edges_[e].first;
      for (const int bend : routes_[e].bends) {
        links.emplace_back(last, bend);
        last = bend;
      }
      links.emplace_back(last, edges_[e].second);
    }
    std::vector<std::vector<int>> rows(num_rows_);
    for (size_t i = 0; i < boxes_.size(); ++i) rows[row_[i]].push_back(static_cast<int>(i));
    ArrangeRows(rows, links, num_nodes_, options_.box_gap, &boxes_);
    MoveColumns(rows);
  }

  // Every column beside the one before, every row below the one before.
  void MoveColumns(const std::vector<std::vector<int>>& rows) {
    const size_t columns = column_begin_.size() - 1;
    std::vector<int> lanes(columns + 1, 0);
    int top_lanes = 0;
    for (size_t e = 0; e < edges_.size(); ++e) {
      if (!routes_[e].beside) continue;
      const int a = column_of_row_[row_[edges_[e].first]], b = column_of_row_[row_[edges_[e].second]];
      ++lanes[a + 1];
      if (b > a + 1) {
        ++lanes[b];
        ++top_lanes;
      }
    }
    top_ = kMargin + LaneWidth(top_lanes) + 8;
    row_y_.assign(num_rows_, 0);
    row_height_.assign(num_rows_, 0);
    double left = kMargin, bottom = top_;
    gutter_.assign(columns + 1, 0);
    for (size_t c = 0; c < columns; ++c) {
      double low = 0, high = 0, y = top_;
      bool any = false;
      for (int row = column_begin_[c]; row < column_begin_[c + 1]; ++row) {
        for (const int i : rows[row]) {
          low = any ? std::min(low, boxes_[i].x - boxes_[i].width / 2) : boxes_[i].x - boxes_[i].width / 2;
          high = any ? std::max(high, boxes_[i].x + boxes_[i].width / 2) : boxes_[i].x + boxes_[i].width / 2;
          any = true;
          row_height_[row] = std::max(row_height_[row], boxes_[i].height);
        }
        row_y_[row] = y + row_height_[row] / 2;
        y += row_height_[row] + options_.row_gap;
        for (const int i : rows[row]) boxes_[i].y = row_y_[row];
      }
      for (int row = column_begin_[c]; row < column_begin_[c + 1]; ++row) {
        for (const int i : rows[row]) boxes_[i].x += left - low;
      }
      bottom = std::max(bottom, y - options_.row_gap);
      gutter_[c + 1] = left + (high - low) + 12;
      left = gutter_[c + 1] + LaneWidth(lanes[c + 1]) + 16;
    }
    width_ = left - 16 + kMargin;
    height_ = bottom + kMargin + 8;
  }

  static int LaneOf(int edge_in_gutter) { return edge_in_gutter % kMostLanes; }
  double LaneWidth(int lanes) const { return options_.lane_gap * std::min(lanes, kMostLanes); }

  void DrawEdges(Layout* out) {
    out->width = width_;
    out->height = height_;
    std::vector<int> used(gutter_.size(), 0);
    int used_top = 0;
    for (size_t e = 0; e < edges_.size(); ++e) {
      out->paths.push_back(routes_[e].beside ? Beside(edges_[e], &used, &used_top) : Direct(e));
    }
  }

  static std::string Number(double value) { return absl::StrCat(static_cast<int64_t>(std::lround(value))); }

  // Curves from row to row, straight lines through the rows.
  std::string Direct(size_t e) const {
    const LayoutBox& from = boxes_[edges_[e].first];
    const LayoutBox& to = boxes_[edges_[e].second];
    double x = from.x, y = from.y + from.height / 2;
    std::string path = absl::StrCat("M", Number(x), " ", Number(y));
    const auto curve_to = [&](double next_x, double next_y) {
      if (std::lround(x) == std::lround(next_x)) {
        absl::StrAppend(&path, "V", Number(next_y));
      } else {
        const std::string middle = Number((y + next_y) / 2);
        absl::StrAppend(&path, "C", Number(x), " ", middle, " ", Number(next_x), " ", middle, " ", Number(next_x), " ", Number(next_y));
      }
      x = next_x;
      y = next_y;
    };
    for (const int bend : routes_[e].bends) {
      const double half = row_height_[row_[bend]] / 2;
      curve_to(boxes_[bend].x, boxes_[bend].y - half);
      curve_to(boxes_[bend].x, boxes_[bend].y + half);
    }
    curve_to(to.x, to.y - to.height / 2);
    return path;
  }

  // Below its box, along the gutter, over the top where it goes further than to the next column, above the other box.
  std::string Beside(const std::pair<int, int>& edge, std::vector<int>* used, int* used_top) const {
    const LayoutBox& from = boxes_[edge.first];
    const LayoutBox& to = boxes_[edge.second];
    const int a = column_of_row_[row_[edge.first]], b = column_of_row_[row_[edge.second]];
    const double below = row_y_[row_[edge.first]] + row_height_[row_[edge.first]] / 2 + options_.row_gap * 0.4;
    const double above = row_y_[row_[edge.second]] - row_height_[row_[edge.second]] / 2 - options_.row_gap * 0.4;
    const double out = gutter_[a + 1] + options_.lane_gap * LaneOf((*used)[a + 1]++);
    std::vector<std::pair<double, double>> points = {{from.x, from.y + from.height / 2}, {from.x, below}, {out, below}};
    if (b > a + 1) {
      const double in = gutter_[b] + options_.lane_gap * LaneOf((*used)[b]++);
      const double over = kMargin + options_.lane_gap * LaneOf((*used_top)++);
      points.insert(points.end(), {{out, over}, {in, over}, {in, above}});
    } else {
      points.emplace_back(out, above);
    }
    points.insert(points.end(), {{to.x, above}, {to.x, to.y - to.height / 2}});
    return Rounded(points);
  }

  static std::string Rounded(const std::vector<std::pair<double, double>>& points) {
    constexpr double kRadius = 5;
    std::string path = absl::StrCat("M", Number(points[0].first), " ", Number(points[0].second));
    for (size_t i = 1; i + 1 < points.size(); ++i) {
      const auto near = [&](const std::pair<double, double>& other) {
        const auto& [x, y] = points[i];
        const double length = std::hypot(other.first - x, other.second - y);
        const double part = length == 0 ? 0 : std::min(kRadius, length / 2) / length;
        return absl::StrCat(Number(x + (other.first - x) * part), " ", Number(y + (other.second - y) * part));
      };
      absl::StrAppend(&path, "L", near(points[i - 1]), "Q", Number(points[i].first), " ", Number(points[i].second), " ",
                      near(points[i + 1]));
    }
    return absl::StrCat(path, "L", Number(points.back().first), " ", Number(points.back().second));
  }

  static constexpr int kMostLanes = 8;  // more edges share them
  const LayoutOptions options_;
  const int num_nodes_;
  const absl::Span<const std::pair<int, int>> edges_;
  const int rows_per_column_;
  std::vector<LayoutBox> boxes_;  // nodes, then bends
  std::vector<int> row_;          // of a box
  std::vector<Route> routes_;     // of an edge
  int num_rows_ = 0;
  std::vector<int> column_begin_;  // first row of a column; one more entry than columns
  std::vector<int> column_of_row_;
  std::vector<double> row_y_, row_height_;
  std::vector<double> gutter_;  // [c + 1]: where the first lane right of column c runs
  double top_ = 0, width_ = 0, height_ = 0;
};

// The row of each node: the longest path from above; what hangs on nothing comes down to its first reader.
std::vector<int> Rows(int num_nodes, absl::Span<const std::pair<int, int>> edges) {
  std::vector<std::vector<int>> readers(num_nodes);
  std::vector<int> row(num_nodes, 0), num_from(num_nodes, 0);
  for (const auto& [from, to] : edges) {
    readers[from].push_back(to);
    ++num_from[to];
  }
  for (int i = 0; i < num_nodes; ++i) {
    for (const int to : readers[i]) row[to] = std::max(row[to], row[i] + 1);
  }
  for (int i = num_nodes - 1; i >= 0; --i) {
    if (num_from[i] > 0 || readers[i].empty()) continue;
    int lowest = row[readers[i][0]];
    for (const int to : readers[i]) lowest = std::min(lowest, row[to]);
    row[i] = std::max(row[i], lowest - 1);
  }
  return row;
}

}  // namespace

// One column, two, ...: the first number that no larger one beats by much.
Layout LayOut(std::vector<LayoutBox> boxes, absl::Span<const std::pair<int, int>> edges, const LayoutOptions& options) {
  constexpr int kMostColumns = 16, kFewestRows = 6;
  constexpr double kBetter = 0.88;
  const std::vector<int> rows = Rows(static_cast<int>(boxes.size()), edges);
  const int num_rows = rows.empty() ? 1 : 1 + *std::max_element(rows.begin(), rows.end());
  Layout best;
  double best_size = 0;
  for (int columns = 1; columns <= kMostColumns; ++columns) {
    const int per_column = (num_rows + columns - 1) / columns;
    if (columns > 1 && per_column < kFewestRows) break;
    Layout layout = Layouter(boxes, edges, rows, per_column, options).Make();
    // A picture that does not fit into the window is made smaller.
    const double size = std::max({layout.height, layout.width / options.aspect, options.window_height});
    if (columns == 1 || size < best_size * kBetter) {
      best_size = size;
      best = std::move(layout);
    }
    if (layout.width > layout.height * options.aspect) break;  // and more columns make it wider
  }
  return best;
}

}  // namespace ampc
