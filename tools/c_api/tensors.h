// Tensors that callers hand over.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "runtime/tensor_map.h"
#include "tools/c_api/ampc.h"

namespace ampc::c_api {

// A usage error for one whose type, dims, bytes and data do not belong together.
absl::StatusOr<HostTensor> Copy(const ampc_tensor& tensor);
// By name; a usage error names the input.
absl::StatusOr<TensorMap> Feeds(absl::Span<const ampc_tensor> inputs);

}  // namespace ampc::c_api
