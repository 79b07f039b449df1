// The time of a run: by type of operation and implementation, and as a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "tools/cli/trace.h"

namespace ampc {

struct OpShare {
  std::string type;
  std::string implementation;  // as ObservedStep has it
  int64_t steps = 0;           // in a run
  double seconds = 0;          // in a run
  double share = 0;            // of the run's time
};

struct Profile {
  double seconds = 0;          // of the run, with what watching it costs
  std::vector<OpShare> ops;    // by time, longest first; then by type and implementation
  double between_seconds = 0;  // not in operations: conversions between layouts, copies of feeds and fetches, the watching
  Trace trace;
};

// The fastest of `runs` runs (at least one), each step timed. The session should have run with these dims before. Errors as Session::Run.
absl::StatusOr<Profile> ProfileSession(const Session& session, const TensorMap& feeds, int runs);

}  // namespace ampc
