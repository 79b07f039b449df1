// The files of one checkpoint, with their checksums.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/train/checkpoint.h"

namespace ampc {

// A variable as a checkpoint has it: "f32 [3, 4]".
using VariableTypes = std::map<std::string, std::string>;

std::string TrainingJson(const TrainingProgress& progress, const VariableTypes& types);
absl::Status ParseTrainingJson(absl::string_view text, TrainingProgress* progress, VariableTypes* types);

// Writes manifest.json for the files `names` of `directory`.
absl::Status WriteManifest(const std::string& directory, const std::vector<std::string>& names);
// BadInputError when the manifest is absent or malformed, or a file is absent, of another size or another checksum.
absl::Status CheckManifest(const std::string& directory);

// Makes the entries of a directory last, as fsync does for a file's bytes.
absl::Status SyncDirectory(const std::string& directory);

}  // namespace ampc
