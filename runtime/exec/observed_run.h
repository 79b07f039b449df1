// ObservedRun: one run as its observer sees it, across all the plans that it executes.
#pragma once

#include <chrono>

#include "runtime/exec/observer.h"

namespace ampc {

struct ObservedRun {
  using Clock = std::chrono::steady_clock;

  explicit ObservedRun(StepObserver& o) : observer(o), start(Clock::now()) {}
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start).count(); }

  StepObserver& observer;
  const Clock::time_point start;
  int next_index = 0;  // of a step; a step of a loop has one each time it runs
};

}  // namespace ampc
