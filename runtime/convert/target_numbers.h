// The device that a --target means.
#pragma once

#include "absl/strings/string_view.h"
#include "graph/device_numbers.h"

namespace ampc {

// "cpu" is this machine's, "cuda" a GPU of compute capability 8.0.
const DeviceNumbers& NumbersOfTarget(absl::string_view target);

}  // namespace ampc
