#include "passes/analysis/min_cut.h"

#include <algorithm>
#include <optional>

namespace ampc {
namespace {

// Highest-label push-relabel: variables are nodes, what is yes is on the side of the source. Only the first phase: what cannot reach the
// sink any more is on the side of the source.
class PreflowPush {
 public:
  explicit PreflowPush(int nodes) : begin_(nodes + 1, 0), excess_(nodes, 0), to_sink_(nodes, 0), label_(nodes, 0), next_(nodes, 0) {}

  void CountArcs(int a, int b) { ++begin_[a + 1], ++begin_[b + 1]; }
  void PlaceArcs() {
    for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    arcs_.resize(begin_.back());
    std::copy(begin_.begin(), begin_.end() - 1, next_.begin());
  }
  void AddArcs(int a, int b, int64_t capacity) {
    const int forward = next_[a]++, back = next_[b]++;
    arcs_[forward] = {b, back, capacity};
    arcs_[back] = {a, forward, 0};
  }
  void SetTerminals(int node, int64_t from_source, int64_t to_sink) {
    const int64_t through = std::min(from_source, to_sink);
    excess_[node] = from_source - through;
    to_sink_[node] = to_sink - through;
  }

  void Run() {
    Relabel();
    while (highest_ > 0) {
      std::vector<int>& bucket = active_[highest_];
      if (bucket.empty()) {
        --highest_;
        continue;
      }
      const int node = bucket.back();
      bucket.pop_back();
      if (label_[node] == highest_ && excess_[node] > 0) Discharge(node);
      if (work_ > 6 * static_cast<int64_t>(label_.size()) + static_cast<int64_t>(arcs_.size())) Relabel();
    }
    Relabel();
  }

  bool ReachesSink(int node) const { return label_[node] < Unreachable(); }

 private:
  struct Arc {
    int to, back;
    int64_t capacity;
  };

  int Unreachable() const { return static_cast<int>(label_.size()) + 1; }

  // Labels are distances to the sink: a sweep backwards from it.
  void Relabel() {
    const int n = static_cast<int>(label_.size());
    work_ = 0;
    highest_ = 0;
    active_.assign(n + 2, {});
    with_label_.assign(n + 2, 0);
    label_.assign(n, Unreachable());
    std::copy(begin_.begin(), begin_.end() - 1, next_.begin());
    std::vector<int> queue;
    for (int v = 0; v < n; ++v) {
      if (to_sink_[v] > 0) {
        label_[v] = 1;
        queue.push_back(v);
      }
    }
    for (size_t i = 0; i < queue.size(); ++i) {
      const int v = queue[i];
      ++with_label_[label_[v]];
      if (excess_[v] > 0) Activate(v);
      for (int a = begin_[v]; a < begin_[v + 1]; ++a) {
        const int w = arcs_[a].to;
        if (label_[w] == Unreachable() && arcs_[arcs_[a].back].capacity > 0) {
          label_[w] = label_[v] + 1;
          queue.push_back(w);
        }
      }
    }
  }

  void Activate(int v) {
    active_[label_[v]].push_back(v);
    highest_ = std::max(highest_, label_[v]);
  }

  // Until the node has no excess, or is cut off from the sink.
  void Discharge(int v) {
    while (excess_[v] > 0 && label_[v] < Unreachable()) {
      if (label_[v] == 1 && to_sink_[v] > 0) {
        const int64_t flow = std::min(excess_[v], to_sink_[v]);
        excess_[v] -= flow;
        to_sink_[v] -= flow;
        continue;
      }
      if (next_[v] == begin_[v + 1]) {
        Lift(v);
        continue;
      }
      Arc& arc = arcs_[next_[v]];
      if (arc.capacity > 0 && label_[arc.to] == label_[v] - 1) {
        const int64_t flow = std::min(excess_[v], arc.capacity);
        arc.capacity -= flow;
        arcs_[arc.back].capacity += flow;
        excess_[v] -= flow;
        if (excess_[arc.to] == 0) active_[label_[arc.to]].push_back(arc.to);
        excess_[arc.to] += flow;
        if (excess_[v] == 0) return;
      }
      ++next_[v];
    }
  }

  void Lift(int v) {
    const int old = label_[v];
    int lowest = Unreachable();
    if (to_sink_[v] > 0) lowest = 1;
    for (int a = begin_[v]; a < begin_[v + 1]; ++a) {
      if (arcs_[a].capacity > 0) lowest = std::min(lowest, label_[arcs_[a].to] + 1);
    }
    work_ += begin_[v + 1] - begin_[v] + 12;
    next_[v] = begin_[v];
    label_[v] = std::min(lowest, Unreachable());
    if (--with_label_[old] == 0) CutAbove(old);  // a gap: nothing above it reaches the sink
    if (label_[v] == Unreachable()) return;
    if (with_label_[old] == 0 && label_[v] > old) {
      label_[v] = Unreachable();
      return;
    }
    ++with_label_[label_[v]];
    highest_ = std::max(highest_, label_[v]);
  }

  void CutAbove(int gap) {
    for (int label = gap + 1; label <= highest_ && label < Unreachable(); ++label) {
      for (const int v : active_[label]) {
        if (label_[v] == label) {
          label_[v] = Unreachable();
          --with_label_[label];
        }
      }
      active_[label].clear();
    }
  }

  std::vector<int> begin_;  // by node: its first arc
  std::vector<Arc> arcs_;
  std::vector<int64_t> excess_, to_sink_;  // by node
  std::vector<int> label_, next_;          // by node: at most its distance to the sink, and the arc to be looked at next
  std::vector<std::vector<int>> active_;   // by label: nodes with excess, and some that had
  std::vector<int> with_label_;            // by label: how many nodes
  int highest_ = 0;
  int64_t work_ = 0;  // since the last Relabel
};

}  // namespace

int MinCut::Add(int64_t yes, int64_t no) {
  yes_.push_back(yes);
  no_.push_back(no);
  return static_cast<int>(yes_.size()) - 1;
}

void MinCut::AddPair(int a, int b, int64_t cost) {
  if (cost > 0 && a != b) pairs_.push_back({a, b, cost});
}

std::vector<bool> MinCut::Solve() {
  if (std::optional<std::vector<bool>> choice = SolveByElimination(yes_, no_, pairs_, kForbidden); choice.has_value()) return *choice;
  const int n = static_cast<int>(yes_.size());
  PreflowPush flow(n);
  for (const ChoicePair& pair : pairs_) flow.CountArcs(pair.a, pair.b);
  flow.PlaceArcs();
  for (const ChoicePair& pair : pairs_) flow.AddArcs(pair.a, pair.b, pair.cost);
  for (int v = 0; v < n; ++v) flow.SetTerminals(v, no_[v], yes_[v]);
  flow.Run();
  std::vector<bool> choice(n);
  for (int v = 0; v < n; ++v) choice[v] = !flow.ReachesSink(v);
  return choice;
}

int64_t MinCut::CostOf(const std::vector<bool>& choice) const {
  int64_t cost = 0;
  for (size_t v = 0; v < yes_.size(); ++v) cost += choice[v] ? yes_[v] : no_[v];
  for (const ChoicePair& pair : pairs_) cost += choice[pair.a] && !choice[pair.b] ? pair.cost : 0;
  return cost;
}

}  // namespace ampc
