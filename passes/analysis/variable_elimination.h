// SolveByElimination: the cheapest choice of yes or no for each of many variables, one variable after the other: linear in the number of
// variables where few of them have to be looked at together, as along a chain of layers with whatever runs beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ampc {

// Costs `cost`, above 0, where `a` is yes and `b` is no.
struct ChoicePair {
  int a, b;
  int64_t cost;
};

// As MinCut::Solve: `yes` and `no` are what each variable costs, `forbidden` is more than any sum of the other costs. Nothing where more
// than ten variables would have to be looked at together, found before any table is made.
std::optional<std::vector<bool>> SolveByElimination(const std::vector<int64_t>& yes, const std::vector<int64_t>& no,
                                                    const std::vector<ChoicePair>& pairs, int64_t forbidden);

}  // namespace ampc
