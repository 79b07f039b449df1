#include "passes/amp/decide/fastest.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "passes/amp/decide/cast_demand.h"
#include "passes/analysis/min_cut.h"

namespace ampc {
namespace {

// Costs are whole numbers, so that sums of them are exact.
int64_t Picoseconds(double seconds) { return std::llround(std::clamp(seconds, 0.0, 1e3) * 1e12); }

// A variable of the cut, or a constant.
struct Term {
  int variable = -1;
  bool low = false;  // of a constant
  bool IsConstant() const { return variable < 0; }
};
constexpr Term kFp32{-1, false}, kLow{-1, true};

constexpr size_t kMostJoined = 4;  // at once

class FastestChoice {
 public:
  FastestChoice(const Program& program, const TimeModel& model, const IoChoice& io, absl::FunctionRef<bool(const Op&)> may_be_fp32,
                const LowPenalty* penalty, AmpDecision* decision)
      : program_(program), model_(model), io_(io), penalty_(penalty), decision_(*decision), terms_(program.num_op_ids(), kFp32) {
    ForEachOp(program, [&](const Op& op) {
      if (!decision_.For(op).low) return;
      if (may_be_fp32(op)) {
        terms_[op.id()] = VariableOf(op);
        ops_.push_back(&op);
      } else {
        terms_[op.id()] = kLow;
      }
    });
  }

  void Run() {
    const CastDemand demand(program_, decision_, [this](const Var& fetch) {
      const IoChoice::Request request = io_.For(fetch);
      return request == IoChoice::Request::kKeep ? ReadsAs::kFp32 : request == IoChoice::Request::kLow ? ReadsAs::kLow : ReadsAs::kAsItsOp;
    });
    Term made = kFp32;
    const Var* value = nullptr;
    for (const ReadersInBlock& readers : demand.values()) {
      if (readers.value != value) made = MakerOf(readers, demand);
      value = readers.value;
      AddCasts(readers, made, TermsOf(demand.ReadersOf(readers)));
    }
    for (const FixedResult& result : demand.fixed_results())
      Pay(TermOf(result.op), kFp32, model_.CastSeconds(*result.value, result.op->block().index()));
    MinCut cut;
    for (size_t v = 0; v < costs_.size(); ++v) cut.Add(costs_[v].low, costs_[v].fp32);
    for (const Pair& pair : pairs_) cut.AddPair(pair.low, pair.fp32, pair.cost);
    const std::vector<bool> low = cut.Solve();
    for (const Op* op : ops_) {
      if (!low[terms_[op->id()].variable]) KeepFp32(*op);
    }
  }

 private:
  struct Costs {
    int64_t low, fp32;
  };
  struct Pair {
    int low, fp32;
    int64_t cost;
  };

  Term NewVariable(double low, double fp32) {
    costs_.push_back({Picoseconds(low), Picoseconds(fp32)});
    return {static_cast<int>(costs_.size()) - 1, false};
  }
  // Its own, or that of its unit.
  Term VariableOf(const Op& op) {
    const double more = penalty_ == nullptr ? 0 : penalty_->SecondsOf(op);
    const Term own = NewVariable(model_.OpSeconds(op, true) + std::max(more, 0.0), model_.OpSeconds(op, false) + std::max(-more, 0.0));
    const int unit = penalty_ == nullptr ? -1 : penalty_->UnitOf(op);
    if (unit < 0) return own;
    const auto [first, is_first] = units_.emplace(unit, own.variable);
    if (is_first) return own;
    costs_[first->second].low += costs_[own.variable].low;
    costs_[first->second].fp32 += costs_[own.variable].fp32;
    costs_.pop_back();
    return {first->second, false};
  }
  Term TermOf(const Op* op) const { return op == nullptr ? kFp32 : terms_[op->id()]; }

  // Costs that where the one is low and the other is not.
  void Pay(Term low, Term fp32, double seconds) {
    if ((low.IsConstant() && !low.low) || (fp32.IsConstant() && fp32.low)) return;
    const int64_t cost = Picoseconds(seconds);
    if (!low.IsConstant() && !fp32.IsConstant()) {
      pairs_.push_back({low.variable, fp32.variable, cost});
    } else if (!low.IsConstant()) {
      costs_[low.variable].low += cost;
    } else if (!fp32.IsConstant()) {
      costs_[fp32.variable].fp32 += cost;
    }
  }

  // Low where one of them is (`any`), or where all are.
  Term Joined(const std::vector<Term>& terms, bool any) {
    std::vector<Term> variables;
    for (const Term& term : terms) {
      if (term.IsConstant() && term.low == any) return term;
      if (!term.IsConstant()) variables.push_back(term);
    }
    if (variables.empty()) return any ? kFp32 : kLow;
    if (variables.size() == 1) return variables[0];
    // Joined one by one, many need few variables of the cut at a time: those of one place in the program.
    if (variables.size() > kMostJoined) {
      Term joined = variables[0];
      for (size_t i = 1; i < variables.size(); ++i) joined = Join({joined, variables[i]}, any);
      return joined;
    }
    return Join(variables, any);
  }
  Term Join(const std::vector<Term>& variables, bool any) {
    const Term joined = NewVariable(0, 0);
    for (const Term& term : variables) {
      const int low = any ? term.variable : joined.variable, fp32 = any ? joined.variable : term.variable;
      pairs_.push_back({low, fp32, MinCut::kForbidden});
    }
    return joined;
  }

  std::vector<Term> TermsOf(absl::Span<const ReaderOfValue> readers) const {
    std::vector<Term> terms;
    for (const ReaderOfValue& reader : readers) {
      terms.push_back(reader.as == ReadsAs::kLow ? kLow : reader.as == ReadsAs::kFp32 ? kFp32 : TermOf(reader.op));
    }
    return terms;
  }

  // Low where the value is made so. `first` is the first of its blocks.
  Term MakerOf(const ReadersInBlock& first, const CastDemand& demand) {
    if (first.value->kind != VarKind::kFeed) return TermOf(first.maker);
    const IoChoice::Request request = io_.For(*first.value);
    if (request != IoChoice::Request::kMayBeLow) return request == IoChoice::Request::kLow ? kLow : kFp32;
    std::vector<Term> terms;
    for (const ReadersInBlock* block = &first; block != demand.values().end() && block->value == first.value; ++block) {
      for (const Term& term : TermsOf(demand.ReadersOf(*block))) terms.push_back(term);
    }
    return Joined(terms, true);
  }

  void AddCasts(const ReadersInBlock& value, Term made, const std::vector<Term>& readers) {
    const double seconds = model_.CastSeconds(*value.value, value.block);
    if (seconds == 0) return;
    Pay(Joined(readers, true), made, seconds);
    Pay(made, Joined(readers, false), seconds);
  }

  void KeepFp32(const Op& op) {
    const double gain = model_.OpSeconds(op, false) - model_.OpSeconds(op, true);
    decision_.ops[op.id()] = {
        false, false, kAutoRule,
        decision_.Keep(gain > 0 ? absl::StrFormat("on %s %s makes it %.3g us faster, less than the casts around it take",
                                                  model_.device().name, Name(decision_.low), gain * 1e6)
                                : absl::StrCat("on ", model_.device().name, " it is as fast in fp32"))};
  }

  const Program& program_;
  const TimeModel& model_;
  const IoChoice& io_;
  const LowPenalty* penalty_;
  AmpDecision& decision_;
  std::vector<Term> terms_;  // by Op::id
  std::vector<const Op*> ops_;
  std::vector<Costs> costs_;             // by variable
  absl::flat_hash_map<int, int> units_;  // variables
  std::vector<Pair> pairs_;
};

}  // namespace

void ChooseFastest(const Program& program, const TimeModel& model, const IoChoice& io, absl::FunctionRef<bool(const Op&)> may_be_fp32,
                   const LowPenalty* penalty, AmpDecision* decision) {
  FastestChoice(program, model, io, may_be_fp32, penalty, decision).Run();
}

}  // namespace ampc
