// MinCut: the cheapest of all choices of yes or no for many variables, where a pair of them may cost something: exact, as a
// minimum s-t cut.
#pragma once

#include <cstdint>
#include <vector>

#include "passes/analysis/variable_elimination.h"

namespace ampc {

class MinCut {
 public:
  // A variable that costs `yes` or `no`, at least 0 each. Returns its number: 0, 1, ...
  int Add(int64_t yes, int64_t no);
  // Costs `cost`, at least 0, where `a` is yes and `b` is no.
  void AddPair(int a, int b, int64_t cost);
  // If `a` is yes, `b` is.
  void Require(int a, int b) { AddPair(a, b, kForbidden); }

  // The choice of the least sum; of several such that with the most yes. Sums of what was added, kForbidden left out, must be below
  // kForbidden. Linear where SolveByElimination is; elsewhere near linear where ways between variables are short or costs along them
  // are like each other.
  std::vector<bool> Solve();
  // The cost of a choice.
  int64_t CostOf(const std::vector<bool>& choice) const;

  static constexpr int64_t kForbidden = int64_t{1} << 60;

 private:
  std::vector<int64_t> yes_, no_;  // by variable
  std::vector<ChoicePair> pairs_;
};

}  // namespace ampc
