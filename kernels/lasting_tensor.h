// Memory for tensors that stay, as packed weights do. From 64 kB on it lies in pages of 2 MB where the system has them, several tensors to
// a page: weights that are read once a run come faster then, in a virtual machine up to 1.6 times.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/dtype.h"
#include "graph/base/host_tensor.h"

namespace ampc {

// Not initialised. Errors as HostTensor::CreateUninitialized. A freed tensor's memory goes back to the system, its addresses when those
// that were made beside it are freed too.
absl::StatusOr<std::shared_ptr<HostTensor>> CreateLasting(DType dtype, absl::Span<const int64_t> dims);

}  // namespace ampc
