// The MatmulLibrary of a CUDA device: cuBLASLt, opened at run time.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/device/device.h"
#include "kernels/device/matmul_library.h"

namespace ampc {

// `device` outlives it. Exit code 4 where the library cannot be opened, Internal with its text where it cannot be used.
absl::StatusOr<std::unique_ptr<MatmulLibrary>> NewCublasLt(Device& device);

}  // namespace ampc
