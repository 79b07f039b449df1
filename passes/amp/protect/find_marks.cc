#include "passes/amp/protect/find_marks.h"

#include "graph/op_record.h"

namespace ampc {
namespace {

// Matrix products and convolutions, as far as sizes are known: an unknown one counts as 1 in a cost, so it may be anything.
double WorkOf(const Op& op, bool* known) {
  if (AmpClassOf(op) != AmpClass::kAllow) return 0;
  for (const Var* var : op.outputs()) {
    if (!var->type.has_rank) *known = false;
    for (int i = 1; i < var->type.rank(); ++i) *known = *known && IsKnown(var->type.dims[i]);
  }
  return op.def().cost != nullptr ? CostOf(op).flops : 1;
}

void RunForward(Facts& facts, Marks* marks, std::vector<RuleStep>* steps) {
  std::vector<Fact> results;
  for (const Op* op : facts.flow().ops()) {
    results.assign(op->outputs().size(), Fact());
    facts.Transfer(*op, results.data(), marks, steps);
  }
}

// The ops that lead to logarithms: all of them, or if they are more than half of the work, those behind which no function of a network
// lies.
class LogSlice {
 public:
  void Add(const Op& op, bool leads, bool direct) {
    const double work = WorkOf(op, &known_);
    all_ += work;
    if (!leads) return;
    inside_ += work;
    slice_.push_back(&op);
    if (direct) direct_.push_back(&op);
  }
  void Mark(int rule, Marks* marks) const {
    for (const Op* op : known_&& inside_ > all_ / 2 ? direct_ : slice_) {
      marks->Add(*op, rule, [&] { return std::string(ProtectRules()[rule].reason); });
    }
  }

 private:
  double all_ = 0, inside_ = 0;
  bool known_ = true;
  std::vector<const Op*> slice_, direct_;
};

class Backward {
 public:
  Backward(const Facts& facts, Marks* marks, std::vector<RuleStep>* steps) : facts_(facts), marks_(marks), steps_(steps) {
    const absl::Span<const Rule> rules = ProtectRules();
    for (int r = 0; r < static_cast<int>(rules.size()); ++r) {
      if (rules[r].backward != nullptr) rows_.push_back(r);
    }
    static_assert(sizeof(uint32_t) * 8 >= 6 * kBackwardBits, "all rules fit into one set of sets");
  }

  void Run() {
    const std::vector<uint32_t> sets = BackwardSets(facts_.flow(), [this](const Op& op, uint32_t results, AddToSets add) {
      for (size_t i = 0; i < rows_.size(); ++i) Ask(op, i, results, add, nullptr);
    });
    const auto& ops = facts_.flow().ops();
    const auto nowhere = [](const Var&, uint32_t) {};
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
      uint32_t results = 0;
      for (const Var* var : (*it)->outputs()) results |= sets[facts_.flow().Root(*var).id()];
      for (size_t i = 0; i < rows_.size(); ++i) {
        const BackwardVisit visit = Ask(**it, i, results, nowhere, marks_);
        if (ProtectRules()[rows_[i]].backward != &LogRule) continue;
        log_ = rows_[i];
        if (!visit.Is(OpTrait::kShapeReader)) logs_.Add(**it, visit.wanted != 0, (visit.wanted & kDirectToLog) != 0);
      }
    }
    logs_.Mark(log_, marks_);
  }

 private:
  BackwardVisit Ask(const Op& op, size_t row, uint32_t results, AddToSets add, Marks* marks) {
    const int shift = static_cast<int>(row) * kBackwardBits;
    const auto want = [&](const Var& var, uint32_t bits) { add(var, bits << shift); };
    BackwardVisit visit(facts_, op, results >> shift & ((1u << kBackwardBits) - 1), marks, want);
    visit.rule = rows_[row];
    const Effect step = ProtectRules()[visit.rule].backward(visit);
    if (marks != nullptr && steps_ != nullptr && step != Effect::kNone) steps_->push_back({&op, visit.rule, step});
    return visit;
  }

  const Facts& facts_;
  Marks* marks_;
  std::vector<RuleStep>* steps_;
  std::vector<int> rows_;
  LogSlice logs_;
  int log_ = 0;
};

}  // namespace

Marks FindMarks(Facts& facts, uint32_t rules, std::vector<RuleStep>* steps) {
  Marks marks(facts.flow().program().num_op_ids(), rules);
  if (!facts.Find(&marks, steps)) {  // something is carried round: once more, with what is known now
    marks = Marks(facts.flow().program().num_op_ids(), rules);
    if (steps != nullptr) steps->clear();
    RunForward(facts, &marks, steps);
  }
  Backward(facts, &marks, steps).Run();
  const absl::Span<const Rule> rows = ProtectRules();
  for (int r = 0; r < static_cast<int>(rows.size()); ++r) {
    if (rows[r].direction == Direction::kCycle) MarkStates(facts, r, &marks);
  }
  return marks;
}

}  // namespace ampc
