#include "tools/cli/tensors.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/tensor_io/npz.h"
#include "graph/formats/tensor_io/safetensors.h"
#include "runtime/compare/difference.h"

namespace ampc {

absl::Status CheckTensorFileName(const std::string& path) {
  if (absl::EndsWith(path, ".npz") || absl::EndsWith(path, ".safetensors")) return absl::OkStatus();
  return UsageError(absl::StrCat("output '", path, "' has an unknown extension, .npz or .safetensors is needed"));
}

absl::Status AddTensors(const std::string& path, const TensorMap& tensors, AtomicFileSet* files) {
  AMPC_RETURN_IF_ERROR(CheckTensorFileName(path));
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file, absl::EndsWith(path, ".npz") ? MakeNpz(path, tensors) : MakeSafetensors(path, tensors));
  return files->Add(std::move(file));
}

TensorStats StatsOf(const HostTensor& tensor) {
  TensorStats stats;
  double sum = 0;
  int64_t finite = 0;
  for (double v : ToDoubles(tensor)) {
    if (!std::isfinite(v)) {
      ++stats.non_finite;
      continue;
    }
    stats.min = finite == 0 ? v : std::min(stats.min, v);
    stats.max = finite == 0 ? v : std::max(stats.max, v);
    sum += v;
    ++finite;
  }
  if (finite > 0) stats.mean = sum / static_cast<double>(finite);
  return stats;
}

}  // namespace ampc
