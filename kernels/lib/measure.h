// Measuring which implementation of a convolution or product is the fastest, on made-up operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "graph/base/status_macros.h"

namespace ampc::onednn {

// The index of the run that took least time, in turns, each at its best; the first unless another is faster by more than the clock is
// uncertain of. Takes about a tenth of a second for each, or three runs. The first error of a run is the result.
absl::StatusOr<size_t> Fastest(absl::Span<const std::function<absl::Status()>> runs);

// Memory of operands: small positive numbers in each float type.
class MadeOperands {
 public:
  absl::StatusOr<void*> Add(int64_t bytes);

 private:
  std::vector<HostTensor> tensors_;
};

// The one of `names` whose `make` (a StatusOr of a pointer to Conv or Matmul) computes `buffers` fastest; `made` owns the workspaces.
template <typename Buffers, typename Make>
absl::StatusOr<std::string> FastestOf(std::vector<std::string> names, Buffers buffers, MadeOperands* made, Make make) {
  if (names.size() == 1) return std::move(names[0]);
  std::vector<std::function<absl::Status()>> runs;
  for (const std::string& name : names) {
    auto step = make(name);
    AMPC_RETURN_IF_ERROR(step.status());
    AMPC_ASSIGN_OR_RETURN(buffers.workspace, made->Add((*step)->workspace_bytes()));
    runs.push_back([step = std::shared_ptr(*std::move(step)), buffers] { return step->Run(buffers); });
  }
  AMPC_ASSIGN_OR_RETURN(const size_t fastest, Fastest(runs));
  return std::move(names[fastest]);
}

}  // namespace ampc::onednn
