// Sizes of a program whose feeds leave dims open, and the device that it is meant for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"
#include "passes/analysis/time_model.h"
#include "runtime/convert/options.h"

namespace ampc {

using FeedDims = std::map<std::string, std::vector<int64_t>>;  // by the feed's name

// A clone for feeds of these dims, by name, all types known; feeds that have none keep theirs. UsageError for dims that do not fit.
absl::StatusOr<Program> WithDims(const Program& program, const FeedDims& dims);
// The same for feeds of made dims (runtime/made_feeds.h). `choice` of the dims: below kMadeSizes; `given` of some feeds.
absl::StatusOr<Program> WithMadeDims(const Program& program, int choice, const FeedDims& given = {});
// With the first choice that fits the program; as it is declared where none does, and where none is given and no dim but a batch is open.
ProgramSizes MadeSizes(const Program& program, const FeedDims& given = {});
// With the dims of these options and what was measured of ops (options.times).
ProgramSizes SizesFor(const ConvertOptions& options, const Program& program);
// UsageError: they have dims that do not fit a feed.
absl::Status CheckDims(const ConvertOptions& options, const Program& program);

}  // namespace ampc
