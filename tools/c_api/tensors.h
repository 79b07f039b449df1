// Tensors that callers hand over.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "runtime/tensor_map.h"
#include "tools/c_api/ampc.h"

namespace ampc::c_api {

// Over the tensor's own data; a copy where that is not aligned as its elements are. A usage error for one whose type, dims, bytes and data
// do not belong together.
absl::StatusOr<HostTensor> Borrow(const ampc_tensor& tensor);
// The same of a result's memory, which is written.
absl::StatusOr<HostTensor> BorrowMutable(const ampc_tensor& tensor);
// By name; a usage error names the input. They borrow.
absl::StatusOr<TensorMap> Feeds(absl::Span<const ampc_tensor> inputs);

}  // namespace ampc::c_api
