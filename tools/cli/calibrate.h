// Runs a model on inputs and measures its values, for `ampc convert --calibrate`.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/program.h"
#include "passes/amp/decide/ranges.h"

namespace ampc {

// Each source is a .npz or .safetensors file with the feeds of one run. Values are those of the program as it is, without fusion; on the
// CPU. Errors name the source: those of reading it, of feeds that do not fit, and of the run.
absl::StatusOr<Ranges> MeasureRanges(const Program& program, const std::vector<std::string>& sources);

}  // namespace ampc
