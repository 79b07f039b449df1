// NumPy's .npy files as host tensors.
//
// Element types: bool, u8, i8, i16, i32, i64, f16, f32, f64, complex. NumPy has no bfloat16: a bf16 tensor is written as the
// float32 values it stands for (exact), so it reads back as f32.
// Reading takes both byte orders and both storage orders; bools are made 0 or 1. Malformed files are BadInputError.
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

// A bf16 tensor as the f32 tensor of the same values.
absl::StatusOr<HostTensor> WidenBF16(const HostTensor& tensor);

}  // namespace ampc
