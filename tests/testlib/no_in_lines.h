// NoInLines: the NoError of a test that shows whole texts, whose message keeps its lines (a user's error is one line, graph/base/error.h).
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ampc::testing {

absl::Status NoInLines(absl::string_view lines);

}  // namespace ampc::testing
