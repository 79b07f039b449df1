// The network of a TrainJob as a file for inference.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/atomic_file_set.h"
#include "tools/train/job.h"

namespace ampc {

// The part from x to the output with its values of the moment, in the format that the extension of `path` says. `strip`: in fp32 and
// without casts, from the master weights; else as it tests.
absl::Status SaveTrained(TrainJob& job, const std::string& path, bool strip);
// The same as files of `files`.
absl::Status AddTrained(TrainJob& job, const std::string& path, bool strip, AtomicFileSet* files);
// Can the format say this network? What SaveTrained would find out after the training; nothing is written.
absl::Status CheckCanSave(TrainJob& job, const std::string& path, bool strip);

// The part of `images` for which the model in `path` is right, run by a Session.
absl::StatusOr<double> AccuracyOfFile(const std::string& path, const ImageSet& images, int threads = 0);

}  // namespace ampc
