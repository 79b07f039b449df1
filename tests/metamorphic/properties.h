// CheckProperties: what holds of every conversion, whatever the program and the options are.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace ampc::metamorphic {

// A fault that is put in, so that a test sees that it would be found.
enum class Fault : uint8_t {
  kNone,
  kLosesACast,
  kWritesOtherBytes,
  kStripsToOther,
  kBoundsTooTight,
  kErrorsTooTight,
  kOtherPlan,
  kOtherThreads,
  kSlower,
  kRescalesOneSide,
};

struct CheckResult {
  absl::Status status;   // the first property that does not hold
  bool refused = false;  // options contradict the program or each other, in one sentence
  std::string program, options;
  int bounded = 0;     // values of runs that were held against proven bounds
  int with_error = 0;  // and against proven errors
  int rescaled = 0;    // programs whose weights were rescaled and whose fp32 results were compared
};

// With files in `folder`. Of the program and the options of `seed`:
//   the result is well formed; the same command, its own plan, and a second conversion give the same bytes; strip gives the original
//   back; runs with one and two threads give the same bits; all values, of the original and of the result, lie in the bounds that were
//   proven for the feeds' ranges, and as close to those of the original as was proven; level auto is not predicted to be slower than O2;
//   rescaled weights change no bit of what the original gives in fp32.
CheckResult CheckProperties(uint64_t seed, const std::string& folder, Fault fault = Fault::kNone);

}  // namespace ampc::metamorphic
