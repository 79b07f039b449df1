// Tensors on the command line: fetches to files, and what can be said about values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/atomic_file_set.h"
#include "runtime/feeds.h"

namespace ampc {

// Adds .npz or .safetensors, chosen by the name, to `files`; a usage error for another name.
absl::Status CheckTensorFileName(const std::string& path);
absl::Status AddTensors(const std::string& path, const TensorMap& tensors, AtomicFileSet* files);

struct TensorStats {
  double min = 0, max = 0, mean = 0;  // of the finite values
  int64_t non_finite = 0;
};
TensorStats StatsOf(const HostTensor& tensor);

}  // namespace ampc
