// Tensors between their declared type and the type that they have in memory (StorageType of kernels/kernel.h).
#pragma once

#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"

namespace ampc {

// The values of an f16 or bf16 tensor as floats, as many as it has elements.
void Widen(const HostTensor& low, float* to, int threads = 1);
// The same values with f16 and bf16 widened to the storage type f32; other types unchanged.
absl::StatusOr<HostTensor> ToStorage(HostTensor value);
// A copy of a value in storage type, in its declared type, rounded to nearest even.
absl::StatusOr<HostTensor> FromStorage(const HostTensor& value, DType declared);

}  // namespace ampc
