// Sizes of a program whose feeds leave dims open, and the device that it is meant for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"
#include "passes/analysis/time_model.h"

namespace ampc {

// A clone for feeds of these dims, by name, all types known; feeds that have none keep theirs. UsageError for dims that do not fit.
absl::StatusOr<Program> WithDims(const Program& program, const std::map<std::string, std::vector<int64_t>>& dims);
// The same for feeds of made dims (runtime/made_feeds.h). `choice` of the dims: below kMadeSizes.
absl::StatusOr<Program> WithMadeDims(const Program& program, int choice);
// With the first choice that fits the program; as it is declared where none does, and where no dim but a batch is open.
ProgramSizes MadeSizes(const Program& program);

}  // namespace ampc
