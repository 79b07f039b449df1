// Times of ops that somebody measured (`ampc profile`), for a conversion.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/convert/options.h"

namespace ampc {

// The file of this machine's CPU, below $XDG_CACHE_HOME/ampc or ~/.cache/ampc. UsageError where neither variable is set.
absl::StatusOr<std::string> CachedTimes();

// Reads options->profile into options->times, and sets the name of the file where it is "cached". UsageError: times of another device than
// the target's.
absl::Status ResolveTimes(ConvertOptions* options);

}  // namespace ampc
