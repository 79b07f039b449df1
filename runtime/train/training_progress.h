// The state of a training beside its variables.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace ampc {

// The position in the caller's data, in the caller's own words: {"epoch", 3}, {"batch", 120}.
using DataPosition = std::map<std::string, int64_t>;

struct TrainingProgress {
  int64_t steps = 0;
  int64_t updates = 0;
  int64_t micro = 0;       // steps since the last update
  int64_t accumulate = 1;  // steps per update
  struct Skips {
    int64_t skipped = 0, in_a_row = 0;
  };
  std::map<std::string, Skips> scalers;  // by the scale's variable
  DataPosition position;
  uint64_t program = 0;  // fingerprint
};

}  // namespace ampc
