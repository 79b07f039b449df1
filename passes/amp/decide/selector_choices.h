// SelectorChoices: which ops the user's include and exclude selectors chose, and what became of that.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/program.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/select/selector.h"

namespace ampc {

class SelectorChoices {
 public:
  // A usage error for a selector that matches no op. The selectors have to outlive the choices.
  static absl::StatusOr<SelectorChoices> Make(const std::vector<Selector>& include, const std::vector<Selector>& exclude,
                                              const Program& program);

  // The first selector of that kind that chose the op, or null.
  const Selector* Included(const Op& op) const { return At(include_, by_include_, op); }
  const Selector* Excluded(const Op& op) const { return At(exclude_, by_exclude_, op); }

  // The decision for an included op. `otherwise` is the decision without the selector; `possible`: the op can be low.
  OpDecision Include(const Op& op, bool possible, const OpDecision& otherwise, AmpDecision* out);

  // After all ops: a usage error for an include selector none of whose ops can be low, notes for those that left some ops fp32
  // or overruled a protection, and for an exclude selector whose ops were all included.
  absl::Status Finish(std::vector<std::string>* notes) const;

 private:
  struct Outcome {
    int low = 0;
    int impossible = 0;
    int left_fp32 = 0;                                               // of these, the ones that compute a float
    int overruled = 0;                                               // protections
    std::string first_impossible, first_left_fp32, first_overruled;  // the op and why
  };
  static const Selector* At(const std::vector<Selector>* selectors, const std::vector<int>& by, const Op& op) {
    return op.id() < static_cast<int>(by.size()) && by[op.id()] >= 0 ? &(*selectors)[by[op.id()]] : nullptr;
  }

  const std::vector<Selector>* include_ = nullptr;
  const std::vector<Selector>* exclude_ = nullptr;
  std::vector<int> by_include_, by_exclude_;  // by Op::id: index of the first selector, -1 for none; empty without selectors
  std::vector<bool> exclude_works_;           // by selector: it chose an op that no include selector chose
  std::vector<Outcome> outcomes_;             // by include selector
};

}  // namespace ampc
