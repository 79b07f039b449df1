// StepObserver: sees every step of a run; for profiles, --verbose, --check-nan-inf and layer-by-layer comparison.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/op.h"
#include "kernels/tensor_desc.h"

namespace ampc {

struct ObservedValue {
  const Var* var = nullptr;
  TensorDesc desc;             // declared dtype; the data is in StorageType(desc.dtype)
  const void* data = nullptr;  // valid during the call only; plain row-major
};

struct ObservedStep {
  int index = 0;  // counts the steps of a run; a loop's steps have one each time
  const Op* op = nullptr;
  std::string implementation;  // "" for a step that computes nothing (a value handed on)
  std::string device = "cpu";  // where it ran: "cpu", "cuda:0", or "host" for what a run on a device leaves to the CPU
  int64_t copied_bytes = 0;    // between device and host, for a step of "host"
  double start_seconds = 0;    // since the start of the run
  double seconds = 0;          // on a device its own time, between two events
  absl::Span<const ObservedValue> results;
};

class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // True: results are converted to plain layout before AfterStep, which costs time. On a device they are on the host then; otherwise
  // ObservedValue::data is null there.
  virtual bool wants_values() const { return false; }
  // An error ends the run with that status. On a device, unless values are wanted, the calls come when the run's work is done.
  virtual absl::Status AfterStep(const ObservedStep& step) = 0;
};

}  // namespace ampc
