#include "passes/amp/decide/selector_choices.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/amp/select/select_ops.h"

namespace ampc {
namespace {

absl::StatusOr<std::vector<int>> FirstSelectors(const std::vector<Selector>& selectors, const Program& program,
                                                const std::vector<int>& taken, std::vector<bool>* works) {
  std::vector<int> first;
  if (selectors.empty()) return first;
  first.assign(program.num_op_ids(), -1);
  works->assign(selectors.size(), false);
  OpSelection ops(program);
  for (size_t s = 0; s < selectors.size(); ++s) {
    AMPC_ASSIGN_OR_RETURN(const std::vector<int> chosen, ops.Select(selectors[s]));
    for (const int i : chosen) {
      if (first[i] < 0) first[i] = static_cast<int>(s);
      if (taken.empty() || taken[i] < 0) (*works)[s] = true;
    }
  }
  return first;
}

std::string Why(const Op& op, const OpDecision& d) {
  return absl::StrCat("'", op.outputs().empty() ? op.type() : op.outputs()[0]->exported(), "' (", d.rule, ": ", d.reason, ")");
}

bool IsProtection(const OpDecision& d) { return absl::StartsWith(d.rule, "protect.") || d.rule == "marked"; }

bool HasFloatResult(const Op& op) {
  for (const Var* var : op.outputs()) {
    if (var->type.IsFloat()) return true;
  }
  return false;
}

std::string Ops(int n) { return absl::StrCat(n, n == 1 ? " op" : " ops"); }

}  // namespace

absl::StatusOr<SelectorChoices> SelectorChoices::Make(const std::vector<Selector>& include, const std::vector<Selector>& exclude,
                                                      const Program& program) {
  SelectorChoices out;
  out.include_ = &include;
  out.exclude_ = &exclude;
  std::vector<bool> unused;
  AMPC_ASSIGN_OR_RETURN(out.by_include_, FirstSelectors(include, program, {}, &unused));
  AMPC_ASSIGN_OR_RETURN(out.by_exclude_, FirstSelectors(exclude, program, out.by_include_, &out.exclude_works_));
  out.outcomes_.resize(include.size());
  return out;
}

OpDecision SelectorChoices::Include(const Op& op, bool possible, const OpDecision& otherwise, AmpDecision* out) {
  const Selector& selector = *Included(op);
  Outcome& outcome = outcomes_[by_include_[op.id()]];
  if (!possible) {
    if (outcome.impossible++ == 0) outcome.first_impossible = Why(op, otherwise);
    if (!otherwise.untouched && HasFloatResult(op) && outcome.left_fp32++ == 0) outcome.first_left_fp32 = Why(op, otherwise);
    return otherwise;
  }
  ++outcome.low;
  std::string reason = absl::StrCat("selected by '", selector.text, "'");
  if (!otherwise.low) absl::StrAppend(&reason, "; without that fp32 (", otherwise.rule, ": ", otherwise.reason, ")");
  if (IsProtection(otherwise) && outcome.overruled++ == 0) outcome.first_overruled = Why(op, otherwise);
  return {true, false, "include", out->Keep(std::move(reason))};
}

absl::Status SelectorChoices::Finish(std::vector<std::string>* notes) const {
  // A selector whose ops an earlier one took has no outcome of its own.
  for (size_t s = 0; s < outcomes_.size(); ++s) {
    const Outcome& o = outcomes_[s];
    const std::string who = absl::StrCat("include selector '", (*include_)[s].text, "'");
    if (o.low == 0 && o.impossible > 0)
      return UsageError(absl::StrCat(who, " matches no op that can be low, the first is ", o.first_impossible));
    if (o.left_fp32 > 0)
      notes->push_back(absl::StrCat(who, " leaves ", Ops(o.left_fp32), " fp32 that cannot be low, the first is ", o.first_left_fp32));
    if (o.overruled > 0)
      notes->push_back(absl::StrCat(who, " makes ", Ops(o.overruled), " low against protection, the first is ", o.first_overruled));
  }
  for (size_t s = 0; s < exclude_works_.size(); ++s) {
    if (!exclude_works_[s])
      notes->push_back(absl::StrCat("exclude selector '", (*exclude_)[s].text, "' changes nothing: include selectors take all its ops"));
  }
  return absl::OkStatus();
}

}  // namespace ampc
