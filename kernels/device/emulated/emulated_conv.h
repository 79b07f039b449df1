// The ConvLibrary of the emulated device: what kernels/device/conv_library.h says, computed in double and rounded once.
#pragma once

#include <memory>

#include "kernels/device/conv_library.h"

namespace ampc {

std::unique_ptr<ConvLibrary> NewEmulatedConv();

}  // namespace ampc
