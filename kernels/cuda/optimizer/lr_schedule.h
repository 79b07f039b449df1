// The launcher of lr_schedule.
#pragma once

#include <cstdint>

#include "graph/ops/learning_rate_formula.h"

namespace ampc::cuda {

inline constexpr int kMostBoundaries = 96;  // of a piecewise rule; they travel as parameters

template <class T, int kCount>
struct FixedList {
  T items[kCount] = {};
  constexpr T operator[](int64_t i) const { return items[i]; }
};

using DeviceLearningRate = LearningRateFormula<FixedList<int64_t, kMostBoundaries>, FixedList<double, kMostBoundaries + 1>>;

struct LrScheduleParams {
  DeviceLearningRate rule;
  bool is_double = false;  // the rate is f64, else f32
  const int64_t* step = nullptr;
  const bool* skip = nullptr;  // null: never
  const void* rate = nullptr;
  int64_t* step_out = nullptr;  // may be the operand itself, as may rate_out
  void* rate_out = nullptr;
};

// Counts the step and sets the rate of the next one, unless it is skipped.
int LaunchLrSchedule(void* stream, const LrScheduleParams& p);

}  // namespace ampc::cuda
