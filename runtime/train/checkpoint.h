// Checkpoints: everything that decides how a training goes on, in one directory per save.
//
//   DIR/step-000000001200/state.safetensors   params, masters, moments, statistics, scales, counters, seeds: all of the scope
//   DIR/step-000000001200/training.json       steps, position in the data, the variables' types, the program's fingerprint
//   DIR/step-000000001200/manifest.json       size and CRC-32 of the two files above
//   DIR/latest                                the name of the newest one
//
// A save writes a directory of another name, syncs it, renames it and then replaces `latest`: a crash at any moment leaves the older
// checkpoints and `latest` whole. One process at a time saves to a directory; any number may read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/exec/scope.h"
#include "runtime/train/training_progress.h"

namespace ampc {

struct CheckpointOptions {
  int keep = 3;  // checkpoints that stay, the new one included; at least 1
  // Variables that are zero at the end of each update: left out where micro is 0, and zero where a checkpoint has none; a state's value
  // in front of an update that has begun (kKeptSuffix) is then the state's own.
  std::vector<std::string> transient = {};
  int64_t accumulate = 1;  // of the program that loads: must be that of the checkpoint, where its micro is not 0
};

// IoError when it could not be written; nothing of it is left then.
absl::Status SaveCheckpoint(const std::string& directory, const Scope& scope, const TrainingProgress& progress,
                            const CheckpointOptions& options);

// Removes what is left of saves that did not come to their end, as each save does: for the process that saves there, as soon as it goes on.
void RemoveUnfinishedSaves(const std::string& directory);

struct LoadedCheckpoint {
  std::string path;
  TrainingProgress progress;
  std::vector<std::string> notes;  // what was damaged, and why an older one was taken; a sentence each
};

// Fills `scope` from the checkpoint that `latest` names, or where that is damaged or lost, from the newest whole one. BadInputError
// when there is none, or when its variables are not those of `scope`: names what is missing, extra, or of another type or dims. Nothing
// has changed then.
absl::StatusOr<LoadedCheckpoint> LoadCheckpoint(const std::string& directory, Scope& scope, const CheckpointOptions& options);

}  // namespace ampc
