// Feeds held against a program's signature.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "graph/program.h"
#include "runtime/tensor_map.h"

namespace ampc {

// The feeds of `program` in its order. UsageError for one that is missing, unknown, or of another type;
// UnsupportedError where the program wants anything but a tensor.
absl::StatusOr<std::vector<const HostTensor*>> OrderFeeds(const Program& program, const TensorMap& feeds);
// The same errors for feeds that are in order.
absl::Status CheckFeeds(const Program& program, absl::Span<const HostTensor* const> feeds);
// UsageError for a tensor of the caller that does not fit the result which it is for.
absl::Status CheckFetch(const Var& fetch, DType dtype, absl::Span<const int64_t> dims, const HostTensor& given);

}  // namespace ampc
