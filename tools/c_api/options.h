// Options of a verb that callers give as keys and values.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tools/c_api/ampc.h"
#include "tools/cli/options.h"

namespace ampc::c_api {

// Parses `given`, and `words` of a command line, as the options that `known` declares, with `arguments` in their order. A usage error for a
// key that is not among them, or for what only a command line has: arguments, --output, --help.
absl::Status ParseOptions(const Options& known, const std::vector<std::string>& arguments, absl::Span<const ampc_option> given,
                          std::vector<std::string> words = {});

}  // namespace ampc::c_api
