#include "passes/analysis/variable_elimination.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <utility>

namespace ampc {
namespace {

constexpr size_t kWidest = 10;            // neighbours of a variable that is eliminated: its table has twice 2^10 entries
constexpr size_t kMostNeighbours = 4096;  // of any variable at first: a sweep over them is made for each that is eliminated

// A cost for each choice of `scope`, whose i-th variable is bit i of the index; sorted by when they are eliminated.
struct Table {
  std::vector<int> scope;
  std::vector<int64_t> costs;
};

// Eliminates the variable with the fewest neighbours first; then all of these are neighbours of each other.
class EliminationOrder {
 public:
  EliminationOrder(int variables, const std::vector<ChoicePair>& pairs) : neighbours_(variables), at_(variables, -1), bucket_(kWidest + 1) {
    for (const ChoicePair& pair : pairs) {
      neighbours_[pair.a].push_back(pair.b);
      neighbours_[pair.b].push_back(pair.a);
    }
    for (std::vector<int>& of_one : neighbours_) {
      std::sort(of_one.begin(), of_one.end());
      of_one.erase(std::unique(of_one.begin(), of_one.end()), of_one.end());
    }
  }

  // False where a variable has too many neighbours.
  bool Find() {
    for (int v = 0; v < static_cast<int>(neighbours_.size()); ++v) {
      if (neighbours_[v].size() > kMostNeighbours) return false;
      Queue(v);
    }
    for (size_t degree = 0; degree <= kWidest;) {
      if (bucket_[degree].empty()) {
        ++degree;
        continue;
      }
      const int v = bucket_[degree].back();
      bucket_[degree].pop_back();
      if (at_[v] >= 0 || neighbours_[v].size() != degree) continue;  // it was queued again since
      at_[v] = static_cast<int>(order_.size());
      order_.push_back(v);
      for (const int u : neighbours_[v]) degree = std::min(degree, Join(u, v));
    }
    return order_.size() == neighbours_.size();
  }

  const std::vector<int>& order() const { return order_; }
  int At(int v) const { return at_[v]; }
  // Those that were left when it was eliminated, by number.
  const std::vector<int>& NeighboursOf(int v) const { return neighbours_[v]; }

 private:
  void Queue(int v) {
    if (neighbours_[v].size() <= kWidest) bucket_[neighbours_[v].size()].push_back(v);
  }
  // `u` gets the neighbours of `v`, which is eliminated. Returns how many it has, at most kWidest.
  size_t Join(int u, int v) {
    std::vector<int> joined;
    std::set_union(neighbours_[u].begin(), neighbours_[u].end(), neighbours_[v].begin(), neighbours_[v].end(), std::back_inserter(joined));
    std::erase_if(joined, [&](int w) { return w == u || w == v; });
    neighbours_[u] = std::move(joined);
    Queue(u);
    return std::min(neighbours_[u].size(), kWidest);
  }

  std::vector<std::vector<int>> neighbours_;  // sorted
  std::vector<int> at_, order_;
  std::vector<std::vector<int>> bucket_;  // by number of neighbours: variables, and some that had as many
};

class Elimination {
 public:
  Elimination(const EliminationOrder& order, int64_t forbidden) : order_(order), forbidden_(forbidden), tables_(order.order().size()) {}

  // Belongs to the variable of its scope that is eliminated first.
  void Add(Table table) {
    if (table.scope.empty()) return;
    const int first = *std::min_element(table.scope.begin(), table.scope.end(), [&](int a, int b) { return order_.At(a) < order_.At(b); });
    tables_[first].push_back(std::move(table));
  }

  std::vector<bool> Run() {
    const std::vector<int>& order = order_.order();
    std::vector<std::vector<bool>> best(order.size());
    for (const int v : order) best[v] = Eliminate(v);
    std::vector<bool> choice(order.size());
    for (auto v = order.rbegin(); v != order.rend(); ++v) {
      size_t index = 0, bit = 0;
      for (const int u : order_.NeighboursOf(*v)) index |= static_cast<size_t>(choice[u]) << bit++;
      choice[*v] = best[*v][index];
    }
    return choice;
  }

 private:
  // Its best choice for each of its neighbours'. Yes where both are as good: then all have the most yes, since of two best choices that
  // one which is yes where either is yes is a best choice, too.
  std::vector<bool> Eliminate(int v) {
    Table left{order_.NeighboursOf(v), {}};
    const size_t entries = size_t{1} << left.scope.size();
    std::vector<int> scope = left.scope;
    scope.push_back(v);
    std::vector<int64_t> sums(2 * entries, 0);
    for (const Table& table : tables_[v]) AddTo(scope, table, &sums);
    tables_[v] = {};
    std::vector<bool> best(entries);
    left.costs.resize(entries);
    for (size_t i = 0; i < entries; ++i) {
      best[i] = sums[entries + i] <= sums[i];
      left.costs[i] = std::min(sums[entries + i], sums[i]);
    }
    Add(std::move(left));
    return best;
  }

  void AddTo(const std::vector<int>& scope, const Table& table, std::vector<int64_t>* sums) {
    std::vector<size_t> bits(scope.size(), 0);
    for (size_t i = 0; i < table.scope.size(); ++i) {
      bits[std::find(scope.begin(), scope.end(), table.scope[i]) - scope.begin()] = size_t{1} << i;
    }
    index_.assign(sums->size(), 0);
    for (size_t i = 0; i < sums->size(); ++i) {
      if (i > 0) index_[i] = index_[i & (i - 1)] | bits[std::countr_zero(i)];
      (*sums)[i] = std::min((*sums)[i] + table.costs[index_[i]], forbidden_);
    }
  }

  const EliminationOrder& order_;
  const int64_t forbidden_;
  std::vector<std::vector<Table>> tables_;  // by variable
  std::vector<size_t> index_;               // in a table, by that in the sums
};

}  // namespace

std::optional<std::vector<bool>> SolveByElimination(const std::vector<int64_t>& yes, const std::vector<int64_t>& no,
                                                    const std::vector<ChoicePair>& pairs, int64_t forbidden) {
  const int variables = static_cast<int>(yes.size());
  EliminationOrder order(variables, pairs);
  if (!order.Find()) return std::nullopt;
  Elimination elimination(order, forbidden);
  for (int v = 0; v < variables; ++v) elimination.Add({{v}, {std::min(no[v], forbidden), std::min(yes[v], forbidden)}});
  for (const ChoicePair& pair : pairs) elimination.Add({{pair.a, pair.b}, {0, std::min(pair.cost, forbidden), 0, 0}});
  return elimination.Run();
}

}  // namespace ampc
