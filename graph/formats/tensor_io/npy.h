// NumPy's .npy files as host tensors.
//
// Element types: bool, integers of 8 to 64 bits, f16, f32, f64, complex. NumPy has no others: floats of 8 bits and fewer and bf16 are
// written as the float32 values they stand for (exact), integers of 2 and 4 bits as those of 8, and read back as these. Types of the
// package ml_dtypes are read: bfloat16 as bf16, those of one byte as u8. Reading takes both byte orders and both storage orders; bools
// are made 0 or 1. Malformed files are BadInputError.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/atomic_file.h"
#include "graph/base/host_tensor.h"

namespace ampc {

absl::StatusOr<HostTensor> ReadNpy(const std::string& path);

// The same from the bytes of a whole file; `name` begins error messages.
absl::StatusOr<HostTensor> ParseNpy(absl::string_view file, absl::string_view name);

absl::Status WriteNpy(const std::string& path, const HostTensor& tensor, AtomicFileWriter::Options options = {});

bool HasNumpyType(DType dtype);
// The same values in a type that NumPy has.
absl::StatusOr<HostTensor> AsNumpy(const HostTensor& tensor);

}  // namespace ampc
