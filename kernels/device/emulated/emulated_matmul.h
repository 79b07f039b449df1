// The MatmulLibrary of the emulated device: what kernels/device/matmul_library.h says, computed in double and rounded once.
#pragma once

#include <memory>

#include "kernels/device/matmul_library.h"

namespace ampc {

std::unique_ptr<MatmulLibrary> NewEmulatedMatmul();

}  // namespace ampc
