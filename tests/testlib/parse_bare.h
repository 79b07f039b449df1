// Programs from bare text: feeds, ops and fetches without the line that names a program.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"
#include "graph/text/parser.h"

namespace ampc::testing {

inline absl::StatusOr<Program> ParseBare(absl::string_view text) {
  ParseOptions options;
  options.bare = true;
  return ParseProgram(text, options);
}

}  // namespace ampc::testing
