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

// Each source is a .npz or .safetensors file, or NAME=file.npy. A float feed is converted to the model's float type where
// they differ (never an integer: that is a usage error of Session::Run).
absl::StatusOr<TensorMap> ReadFeeds(const std::vector<std::string>& sources, const std::vector<ValueInfo>& inputs);

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

// The elements as doubles; integers and bools too.
std::vector<double> ToDoubles(const HostTensor& tensor);

struct Difference {
  int64_t elements = 0;
  double max_abs = 0;
  double max_rel = 0;      // |a - b| over the largest |a| of the tensor
  double max_ulp = 0;      // in units in the last place of the narrower of the two types
  double cosine = 1;
  int64_t mismatched_non_finite = 0;  // one is finite and the other not, or they are different infinities
};
// `narrow` is the type whose units in the last place count.
Difference Compare(const std::vector<double>& a, const std::vector<double>& b, DType narrow);

}  // namespace ampc
