#include "passes/amp/decide/plan_choices.h"

#include "absl/strings/str_cat.h"

namespace ampc {

OpDecision PlanChoices::Decide(const Op& op, bool possible, const OpDecision& otherwise) {
  if (planned_ == nullptr || otherwise.untouched) return otherwise;
  const PlanEntry* entry = planned_->For(op);
  if (entry == nullptr) {
    ++unknown_;
    return otherwise;
  }
  if (entry->low == otherwise.low) return otherwise;
  if (entry->low && !possible) {
    if (impossible_++ == 0) first_impossible_ = absl::StrCat(Describe(op), " (", otherwise.rule, ": ", otherwise.reason, ")");
    return otherwise;
  }
  return {entry->low, false, "plan", "the plan says so"};
}

void PlanChoices::Report(std::vector<std::string>* notes) const {
  if (unknown_ > 0) notes->push_back(absl::StrCat("plan: ", unknown_, unknown_ == 1 ? " op is" : " ops are", " decided without it"));
  if (impossible_ > 0) {
    notes->push_back(
        absl::StrCat("plan: ", impossible_, impossible_ == 1 ? " op" : " ops", " cannot be low as it says, first ", first_impossible_));
  }
}

}  // namespace ampc
