#include "passes/amp/report/causes.h"

#include <deque>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/amp/protect/error_bounds.h"
#include "passes/amp/protect/find_marks.h"

namespace ampc {

// One rule at a time: from where it starts, breadth first, so that chains are as short as they can be.
class Causes::Finder {
 public:
  Finder(const Facts& facts, Causes* causes)
      : facts_(facts), flow_(facts.flow()), causes_(*causes), seen_(flow_.program().num_var_ids(), -1) {}

  void Find(int rule, const std::vector<const RuleStep*>& steps) {
    rule_ = rule;
    const Rule& row = ProtectRules()[rule];
    reached_.clear();
    in_rule_.clear();
    for (const RuleStep* step : steps) in_rule_.insert(step->op->id());
    for (const RuleStep* step : steps) {
      if (step->step == Effect::kStarts) Start(*step->op);
    }
    if (row.direction == Direction::kReaders || row.direction == Direction::kMakers) {
      const bool forward = row.direction == Direction::kReaders;
      const auto travels = [this](const Op& op) { return in_rule_.contains(op.id()); };
      Spread(forward, travels);
      // One that starts and passes at once counts as passing: what nothing led to is a start.
      for (const RuleStep* step : steps) {
        if (!reached_.insert(step->op->id()).second) continue;
        causes_.starts_.emplace(Key(rule_, step->op->id()), TextOfStart(*step->op));
        front_.push_back(step->op);
        Spread(forward, travels);
      }
    }
    // The ops that a rule marks because of an op beside them.
    const auto marked = [this](const Op& op) { return causes_.rules_[op.id()] == rule_; };
    for (const bool forward : {false, true}) {
      for (const RuleStep* step : steps) front_.push_back(step->op);
      Spread(forward, marked);
    }
  }

 private:
  void Start(const Op& op) {
    if (!reached_.insert(op.id()).second) return;
    causes_.starts_.emplace(Key(rule_, op.id()), TextOfStart(op));
    front_.push_back(&op);
  }

  std::string TextOfStart(const Op& op) const {
    std::vector<std::string> known;
    for (const Var* var : op.inputs()) {
      const std::string text = SizeText(facts_.Of(*var));
      if (!text.empty() && known.size() < 2) known.push_back(absl::StrCat("'", flow_.Root(*var).exported(), "': ", text));
    }
    return absl::StrCat(ProtectRules()[rule_].starts, known.empty() ? "" : "; known of ", absl::StrJoin(known, ", of "));
  }

  // From the ops of the front to those that read their results, or make their operands, and so on, as long as `travels`.
  template <typename Travels>
  void Spread(bool forward, const Travels& travels) {
    ++round_;
    while (!front_.empty()) {
      const Op& op = *front_.front();
      front_.pop_front();
      for (const Var* var : forward ? op.outputs() : op.inputs()) Visit(op, flow_.Root(*var), forward, travels);
    }
  }

  template <typename Travels>
  void Visit(const Op& from, const Var& first, bool forward, const Travels& travels) {
    std::vector<const Var*> values = {&first};
    while (!values.empty()) {
      const Var& var = *values.back();
      values.pop_back();
      if (std::exchange(seen_[var.id()], round_) == round_) continue;
      for (const int32_t id : forward ? flow_.LinkedTo(var) : flow_.LinkedFrom(var)) values.push_back(&flow_.var(id));
      for (const int32_t at : forward ? flow_.Readers(var) : flow_.Makers(var)) {
        const Op& op = *flow_.ops()[at];
        if (!travels(op) || !reached_.insert(op.id()).second) continue;
        causes_.links_.emplace(Key(rule_, op.id()), Link{&from, &var, !forward});
        front_.push_back(&op);
      }
    }
  }

  const Facts& facts_;
  const ValueFlow& flow_;
  Causes& causes_;
  int rule_ = 0, round_ = 0;
  std::vector<int> seen_;  // by Var::id: the last round that visited it
  std::deque<const Op*> front_;
  absl::flat_hash_set<int> reached_, in_rule_;
};

Causes::Causes(const Program& program, const AmpDecision& decision, OnTiny on_tiny, const InputRanges& ranges)
    : rules_(program.num_op_ids(), -1), follows_(program.num_op_ids(), Link{nullptr, nullptr, false}) {
  Facts facts(program, decision.low, on_tiny, ranges, decision.measured, decision.masks);
  std::vector<RuleStep> steps;
  FindMarks(facts, ~uint32_t{0}, &steps);
  const ErrorBounds errors(facts);
  const absl::Span<const Rule> rows = ProtectRules();
  for (const Op* op : facts.flow().ops()) {
    const OpDecision& d = decision.For(*op);
    const Rule* row = IsProtectMark(d.rule) ? FindRule(d.rule) : nullptr;
    if (row != nullptr) rules_[op->id()] = static_cast<int>(row - rows.data());
    std::string proof = op->outputs().empty() ? "" : ProofText(facts, *op->outputs()[0]);
    const std::string error = op->outputs().empty() ? "" : ErrorText(errors, *op->outputs()[0]);
    if (!proof.empty() && !error.empty()) absl::StrAppend(&proof, ", ", error);
    if (!proof.empty()) proofs_.emplace(op->id(), std::move(proof));
    if (d.follows == nullptr) continue;
    const Op* maker = facts.flow().Maker(*d.follows);
    if (maker != nullptr) follows_[op->id()] = {maker, d.follows, false};
  }
  std::vector<std::vector<const RuleStep*>> by_rule(rows.size());
  for (const RuleStep& step : steps) by_rule[step.rule].push_back(&step);
  Finder finder(facts, this);
  for (size_t r = 0; r < rows.size(); ++r) finder.Find(static_cast<int>(r), by_rule[r]);
}

const Causes::Link* Causes::Find(int rule, const Op& op) const {
  const auto it = links_.find(Key(rule, op.id()));
  return it == links_.end() ? nullptr : &it->second;
}

std::string Causes::StartOf(const Op& op) const {
  const int rule = op.id() < static_cast<int>(rules_.size()) ? rules_[op.id()] : -1;
  const auto it = rule < 0 ? starts_.end() : starts_.find(Key(rule, op.id()));
  return it == starts_.end() ? "" : it->second;
}

std::vector<CauseStep> Causes::ChainOf(const Op& op, int most) const {
  std::vector<CauseStep> chain;
  if (op.id() >= static_cast<int>(rules_.size())) return chain;
  const Op* at = &op;
  int rule = rules_[op.id()];
  while (static_cast<int>(chain.size()) < most) {
    const Link* link = rule < 0 ? nullptr : Find(rule, *at);
    if (link == nullptr && follows_[at->id()].op != nullptr) {
      link = &follows_[at->id()];
      rule = rules_[link->op->id()];
    }
    if (link == nullptr) break;
    at = link->op;
    CauseStep step = {link->op, link->through, link->reads, ""};
    const auto start = rule < 0 ? starts_.end() : starts_.find(Key(rule, at->id()));
    if (start != starts_.end()) step.starts = start->second;
    chain.push_back(std::move(step));
  }
  return chain;
}

std::string Causes::ProofOf(const Op& op) const {
  const auto it = proofs_.find(op.id());
  return it == proofs_.end() ? "" : it->second;
}

}  // namespace ampc
