// The files of one checkpoint, with their checksums.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/train/training_progress.h"

namespace ampc {

// A variable as a checkpoint has it: "f32 [3, 4]".
using VariableTypes = std::map<std::string, std::string>;

std::string TrainingJson(const TrainingProgress& progress, const VariableTypes& types);
absl::Status ParseTrainingJson(absl::string_view text, TrainingProgress* progress, VariableTypes* types);

struct ManifestEntry {
  std::string name;
  int64_t bytes = 0;
  std::string crc32;  // eight digits
};
absl::StatusOr<std::vector<ManifestEntry>> ParseManifest(absl::string_view text);

inline constexpr char kManifest[] = "manifest.json";
// Writes it for the files `names` of `directory`.
absl::Status WriteManifest(const std::string& directory, const std::vector<std::string>& names);
// BadInputError when the manifest is absent, malformed, or not one of just the files `names`, or a file is absent, of another size or
// another checksum.
absl::Status CheckManifest(const std::string& directory, const std::vector<std::string>& names);

}  // namespace ampc
