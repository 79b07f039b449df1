// Finding where a run first computes what is not finite.
#pragma once

#include "absl/strings/string_view.h"
#include "graph/base/dtype.h"
#include "graph/base/host_tensor.h"
#include "runtime/exec/observer.h"

namespace ampc {

// Ok when all results are finite. Otherwise an error (exit code 1) that names the op, the tensor, how many values are NaN or infinite,
// and the first of them. Needs results in plain layout: StepObserver::wants_values.
absl::Status CheckFinite(const ObservedStep& step);

// The same of a variable of a scope: `stored` is in StorageType(dtype). The error begins with its name.
absl::Status CheckFinite(absl::string_view name, DType dtype, const HostTensor& stored);

// Ends the run at the first step with such a result.
class FiniteObserver : public StepObserver {
 public:
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override { return CheckFinite(step); }
};

// Keeps what the first such step said, and lets runs go on to their end: other processes may wait for what follows.
class FirstNotFinite : public StepObserver {
 public:
  bool wants_values() const override { return first_.ok(); }
  absl::Status AfterStep(const ObservedStep& step) override {
    if (first_.ok()) first_ = CheckFinite(step);
    return absl::OkStatus();
  }
  const absl::Status& first() const { return first_; }

 private:
  absl::Status first_;
};

}  // namespace ampc
