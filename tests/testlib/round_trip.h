// The property that every program has: its text parses back to it.
#pragma once

#include "absl/status/status.h"
#include "graph/program.h"

namespace ampc::testing {

// Prints the program in full, parses that, compares the two (SameProgram, Fingerprint) and prints again. NoError says what
// differs.
absl::Status CheckRoundTrip(const Program& program);

}  // namespace ampc::testing
