// Finding where a run first computes what is not finite.
#pragma once

#include "runtime/exec/observer.h"

namespace ampc {

// Ok when all results are finite. Otherwise an error (exit code 1) that names the op, the tensor, how many values are NaN or infinite,
// and the first of them. Needs results in plain layout: StepObserver::wants_values.
absl::Status CheckFinite(const ObservedStep& step);

// Ends the run at the first step with such a result.
class FiniteObserver : public StepObserver {
 public:
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override { return CheckFinite(step); }
};

}  // namespace ampc
