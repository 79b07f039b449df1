// The answers of inspect, convert and run to a model: the library calls behind the verbs, in this process.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tests/extreme/odd_model.h"

namespace ampc::extreme {

struct Attempt {
  std::string operator_name;       // of an ONNX model: what messages have to call its op
  const char* stage = "inspect";   // the last one that was begun
  absl::Status status;             // of the first stage that failed
  TensorMap fetches;               // of the run
  bool too_little_memory = false;  // it ended for want of memory, which a model may ask for
};

// Writes the model to `folder` and tries it. Exceptions are errors with exit code 5. `begun` is told each stage.
Attempt Try(const OddModel& model, const std::string& folder, void (*begun)(const char* stage) = nullptr);

// Ok for an attempt that worked or ended as a user may expect: exit code 0 to 4, one sentence, which says of an ONNX model nothing that
// only the compiler knows: names of its records and of its own ops, rules of these.
absl::Status CheckPolite(const Attempt& attempt);

}  // namespace ampc::extreme
