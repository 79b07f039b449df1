// The sums of a loop: a small step that is rounded away in one iteration is rounded away in all of them.
#include <algorithm>
#include <numeric>
#include <utility>

#include "passes/amp/protect/visit.h"

namespace ampc {
namespace {

struct Edge {
  int from, to;
};

// By vertex: the number of its strongly connected component (Tarjan's algorithm, with a stack of its own). Components are numbered from 0.
std::vector<int> Components(int vertices, const std::vector<Edge>& edges) {
  std::vector<int> begin(vertices + 1, 0), to(edges.size());
  for (const Edge& edge : edges) ++begin[edge.from + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<int> next(begin.begin(), begin.end() - 1);
  for (const Edge& edge : edges) to[next[edge.from]++] = edge.to;
  std::copy(begin.begin(), begin.end() - 1, next.begin());
  std::vector<int> order(vertices, 0), lowest(vertices, 0), component(vertices, -1), path, open;
  int visited = 0, found = 0;
  for (int root = 0; root < vertices; ++root) {
    if (order[root] == 0) path.push_back(root);
    while (!path.empty()) {
      const int v = path.back();
      if (order[v] == 0) {
        order[v] = lowest[v] = ++visited;
        open.push_back(v);
      }
      if (next[v] < begin[v + 1]) {
        const int w = to[next[v]++];
        if (order[w] == 0) {
          path.push_back(w);
        } else if (component[w] < 0) {
          lowest[v] = std::min(lowest[v], order[w]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) lowest[path.back()] = std::min(lowest[path.back()], lowest[v]);
      if (lowest[v] != order[v]) continue;
      for (int w = -1; w != v;) {
        w = open.back();
        open.pop_back();
        component[w] = found;
      }
      ++found;
    }
  }
  return component;
}

}  // namespace

void MarkStates(const Facts& facts, int rule, Marks* marks) {
  const ValueFlow& flow = facts.flow();
  const int vars = flow.program().num_var_ids();
  if (flow.program().num_blocks() == 1) return;
  std::vector<Edge> edges;
  ForEachVar(flow.program(), [&](const Var& var) {
    if (&flow.Root(var) != &var) return;
    for (const int32_t to : flow.LinkedTo(var)) edges.push_back({var.id(), to});
  });
  std::vector<std::pair<const Op*, Edge>> steps;
  for (const Op* op : flow.ops()) {
    if (!facts.PropagatesLoss(*op) && !op->HasTrait(OpTrait::kSelection)) continue;
    for (const Var* in : op->inputs()) {
      for (const Var* out : op->outputs()) {
        if (in->type.IsFloat() && out->type.IsFloat()) steps.push_back({op, {flow.Root(*in).id(), out->id()}});
      }
    }
  }
  for (const auto& [op, edge] : steps) edges.push_back(edge);
  const std::vector<int> component = Components(vars, edges);
  // A component whose values are only moved and compared loses nothing more in the second iteration.
  std::vector<bool> computes(vars, false);
  for (const auto& [op, edge] : steps) {
    if (component[edge.from] == component[edge.to] && op->HasTrait(OpTrait::kArithmetic)) computes[component[edge.from]] = true;
  }
  for (const auto& [op, edge] : steps) {
    const bool carried = component[edge.from] == component[edge.to] && computes[component[edge.from]];
    if (carried) marks->Add(*op, rule, [&] { return std::string(ProtectRules()[rule].reason); });
  }
}

}  // namespace ampc
