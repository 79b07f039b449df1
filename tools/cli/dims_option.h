// One --dims of the command line: the dims of a feed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ampc {

// "x=1,3,48,320", or with x between the numbers as peers write it; "x=" has no dims. A usage error for anything else.
absl::StatusOr<std::pair<std::string, std::vector<int64_t>>> ParseDimsOption(absl::string_view text);

}  // namespace ampc
