// ForwardFacts: what is known of each value, to a fixed point.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "passes/analysis/dataflow.h"

namespace ampc {

// The facts of each value, from those of the values that it is made of. `Analysis` has the functions below, of
//   Fact                                           what is known of a value; of two equal ones nothing new follows; Fact() is nothing known
//   Fact Initial(const Var&)                       of what no op makes
//   void Transfer(const Op&, Fact* results)        reads Of() of the operands; `results` come in as Fact()
//   Fact Across(const Fact&)                       what is left of a fact at the border of a subgraph and in what is written more than once
//   Fact Join(const Fact& a, const Fact& b)        of a value that is one or the other: commutative; it stays when joined with a or b
//   Fact Widen(const Fact& old, const Fact& now)   instead of `now` after a few changes: no fact may change without end
// An op is visited again when an operand's fact changed: O(program) where nothing is carried round.
template <typename Fact, typename Analysis>
class ForwardFacts {
 public:
  static constexpr int kChangesBeforeWidening = 3;

  ForwardFacts(const ValueFlow& flow, Analysis& analysis) : flow_(flow), analysis_(analysis) {}

  const Fact& Of(const Var& var) const { return facts_[flow_.Root(var).id()]; }
  // Some op was visited more than once: what the first visit saw was not all.
  bool revisited() const { return revisited_; }

  void Run() {
    const int ids = flow_.program().num_var_ids();
    facts_.assign(ids, Fact());
    reached_.assign(ids, false);
    changes_.assign(ids, 0);
    queued_.assign(flow_.ops().size(), false);
    at_ = -1;
    ForEachVar(flow_.program(), [this](const Var& var) {
      if (var.kind != VarKind::kTemp && var.kind != VarKind::kCarry) Set(var, analysis_.Initial(var));
    });
    const int ops = static_cast<int>(flow_.ops().size());
    for (at_ = 0; at_ < ops; ++at_) Visit(*flow_.ops()[at_]);
    at_ = ops;
    revisited_ = !again_.empty();
    while (!again_.empty()) {
      const int position = again_.top();
      again_.pop();
      queued_[position] = false;
      Visit(*flow_.ops()[position]);
    }
  }

 private:
  void Visit(const Op& op) {
    results_.assign(op.outputs().size(), Fact());
    analysis_.Transfer(op, results_.data());
    const bool has_body = !op.SubBlocks().empty();
    for (size_t i = 0; i < op.outputs().size(); ++i) {
      const Var& var = *op.outputs()[i];
      // The op around a body says nothing of values that come across its border or that the body's ops write.
      if (var.kind == VarKind::kTemp ? !flow_.LinkedFrom(var).empty() : has_body) continue;
      if (var.kind == VarKind::kParam) continue;  // the next run reads it: a run is judged by the weights that it came with
      if (flow_.IsJoined(var)) {
        Join(var, analysis_.Across(results_[i]));
      } else {
        Set(var, results_[i]);
      }
    }
  }

  void Join(const Var& var, const Fact& fact) {
    const int id = var.id();
    if (!reached_[id]) return Set(var, fact);
    Fact joined = analysis_.Join(facts_[id], fact);
    if (joined == facts_[id]) return;
    if (changes_[id] < kChangesBeforeWidening) {
      ++changes_[id];
    } else {
      joined = analysis_.Widen(facts_[id], joined);
    }
    Set(var, joined);
  }

  void Set(const Var& var, const Fact& fact) {
    const int id = var.id();
    if (reached_[id] && facts_[id] == fact) return;
    facts_[id] = fact;
    reached_[id] = true;
    for (const int32_t reader : flow_.Readers(var)) {
      if (reader > at_ || queued_[reader]) continue;  // the first sweep comes by, or it waits
      queued_[reader] = true;
      again_.push(reader);
    }
    if (flow_.LinkedTo(var).empty()) return;
    across_.push_back(id);
    if (across_.size() > 1) return;  // links are followed by the outermost call alone: a chain of them may be long
    for (size_t i = 0; i < across_.size(); ++i) {
      const Fact left = analysis_.Across(facts_[across_[i]]);
      for (const int32_t to : flow_.LinkedTo(flow_.var(across_[i]))) Join(flow_.var(to), left);
    }
    across_.clear();
  }

  const ValueFlow& flow_;
  Analysis& analysis_;
  std::vector<Fact> facts_;       // by Var::id
  std::vector<bool> reached_;     // by Var::id: a fact was given
  std::vector<uint8_t> changes_;  // by Var::id: of joined facts
  std::vector<Fact> results_;
  std::vector<int> across_;  // by Var::id: changed, and not yet joined with what they are linked to
  int at_ = 0;
  bool revisited_ = false;
  std::vector<bool> queued_;                                             // by position
  std::priority_queue<int, std::vector<int>, std::greater<int>> again_;  // the first op first
};

}  // namespace ampc
