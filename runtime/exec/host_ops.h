// Host ops: what no plan can hold, because it handles tensor arrays, chooses between values, or makes results whose dims depend on
// values.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/kernel_registry.h"
#include "runtime/exec/environment.h"

namespace ampc {

struct HostCall {
  const Op& op;
  Environment& env;
  const KernelRegistry& kernels;
  int threads = 1;
};

using HostOpFn = absl::Status (*)(const HostCall& call);

// Null for an op that plans execute, and for control flow.
HostOpFn FindHostOp(const Op& op, const KernelRegistry& kernels);

// The single integer in `slot`.
absl::StatusOr<int64_t> ReadInt(const HostCall& call, absl::string_view slot);

// The ops on arrays that are values, not state.
absl::Status SequenceConstruct(const HostCall& call);
absl::Status SequenceInsert(const HostCall& call);
absl::Status SequenceErase(const HostCall& call);
absl::Status SequenceAt(const HostCall& call);
absl::Status SplitToSequence(const HostCall& call);

// The most elements of an array.
inline constexpr int64_t kMaxArrayLength = int64_t{1} << 24;

// The tensor_array_to_tensor op; OutIndex gets the length of each element along the axis. An empty array whose type has a rank gives a
// tensor without elements.
absl::Status TensorArrayToTensor(const HostCall& call);

}  // namespace ampc
