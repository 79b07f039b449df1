// The ConvLibrary of a CUDA device: cuDNN, opened at run time.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/device/conv_library.h"
#include "kernels/device/device.h"

namespace ampc {

// `device` outlives it. Exit code 4 where the library cannot be opened.
absl::StatusOr<std::unique_ptr<ConvLibrary>> NewCudnn(Device& device);

}  // namespace ampc
