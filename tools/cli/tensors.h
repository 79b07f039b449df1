// Tensors on the command line: feeds from files, fetches to files, and what can be said about values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/atomic_file_set.h"
#include "runtime/session.h"

namespace ampc {

// Each source is a .npz or .safetensors file, NAME=file.npy, or a .npy file for a model with one feed. What a file has and no feed is named like is
// a usage error where a feed is missing: it says both.
absl::StatusOr<TensorMap> ReadFeeds(const std::vector<std::string>& sources, const std::vector<ValueInfo>& inputs);
// A float feed is converted to the model's float type where they differ (never an integer: that is a usage error of Session::Run).
absl::StatusOr<TensorMap> InTypesOf(TensorMap feeds, const std::vector<ValueInfo>& inputs);

// The file of a source.
std::string FileOfFeeds(const std::string& source);

// Adds .npz or .safetensors, chosen by the name, to `files`; a usage error for another name.
absl::Status CheckTensorFileName(const std::string& path);
absl::Status AddTensors(const std::string& path, const TensorMap& tensors, AtomicFileSet* files);

struct TensorStats {
  double min = 0, max = 0, mean = 0;  // of the finite values
  int64_t non_finite = 0;
};
TensorStats StatsOf(const HostTensor& tensor);

}  // namespace ampc
