// The formulas of LearningRateRule on plain numbers, which a device's compiler takes, too.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace ampc {

enum class LearningRateKind : uint8_t { kConstant, kPiecewise, kCosine };

// Numbers is an indexable list: values has one number more than boundaries, which rise.
template <class Steps, class Rates>
struct LearningRateFormula {
  LearningRateKind kind = LearningRateKind::kConstant;
  double base = 0;
  int64_t pieces = 0;  // boundaries
  Steps boundaries{};
  Rates values{};
  int64_t steps = 0;
  double least = 0;
  int64_t warm_up_steps = 0;
  double warm_up_from = 0, warm_up_to = 0;

  // The rate in step `step`, counted from 0. constexpr, so that code for a device may call it.
  constexpr double At(int64_t step) const {
    if (step < warm_up_steps)
      return warm_up_from + (warm_up_to - warm_up_from) * static_cast<double>(step) / static_cast<double>(warm_up_steps);
    step -= warm_up_steps;
    if (kind == LearningRateKind::kPiecewise) return values[FirstAbove(step)];
    if (kind != LearningRateKind::kCosine) return base;
    return least + (base - least) * (1 + std::cos(std::numbers::pi * static_cast<double>(step) / static_cast<double>(steps))) / 2;
  }

  // The position of the first boundary above `step`, or `pieces`.
  constexpr int64_t FirstAbove(int64_t step) const {
    int64_t low = 0, high = pieces;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (boundaries[middle] > step) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

}  // namespace ampc
