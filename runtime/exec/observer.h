// StepObserver: sees every step of a run; for profiles, --verbose, --check-nan-inf and layer-by-layer comparison.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/kernel.h"

namespace ampc {

struct ObservedValue {
  const Var* var = nullptr;
  TensorDesc desc;             // declared dtype; the data is in StorageType(desc.dtype)
  const void* data = nullptr;  // valid during the call only; plain row-major
};

struct ObservedStep {
  int index = 0;               // counts the steps of a run; a loop's steps have one each time
  const Op* op = nullptr;
  std::string implementation;  // "" for a step that computes nothing (a value handed on)
  double start_seconds = 0;    // since the start of the run
  double seconds = 0;
  absl::Span<const ObservedValue> results;
};

class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // True: results are converted to plain layout before AfterStep, which costs time.
  virtual bool wants_values() const { return false; }
  // An error ends the run with that status.
  virtual absl::Status AfterStep(const ObservedStep& step) = 0;
};

}  // namespace ampc
