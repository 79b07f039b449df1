// The file of `ampc convert --config FILE`: every option that changes what comes out, as one JSON object
//
//   {"ampc-config": 1, "dtype": "fp16", "level": "O2", "exclude": ["upstream:logits"], "guard": true, "low-io": ["x"], ...}
//
// whose keys are the names of the options: flags are true or false, lists are arrays of strings, everything else is a string.
// runtime/convert/report.h writes it in full, for --write-config and as the "config" of a report; given back, it reproduces the run byte
// for byte. Files (model, output, weights, report) belong on the command line.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/base/json_reader.h"
#include "tools/cli/options.h"

namespace ampc {

// The names of all keys.
std::vector<std::string> ConvertConfigKeys();

// Gives every one of `options` that the file has and the command line has not its value, as if it stood there; keep-io and low-io
// count as one option. A file whose object has the member "config" (a report) means that. BadInput, with the file's name: no
// JSON, an unknown key (with the nearest), a value that the option refuses.
absl::Status ApplyConvertConfig(const std::string& path, const Options& options);
// The same for that object of such a file.
absl::Status ApplyConvertConfig(const JsonValue& config, const std::string& path, const Options& options);

}  // namespace ampc
