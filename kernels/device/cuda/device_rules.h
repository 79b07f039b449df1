// Which CUDA devices are good for what.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "kernels/device/device.h"

namespace ampc {

// By compute capability: from 7.0 on all have tensor cores but the TU116 and TU117 chips of 7.5, whose names are those of GeForce GTX 16..,
// MX... and T with three or four digits.
bool HasTensorCores(int major, int minor, const std::string& name);

// Exit code 4 below compute capability 7.5; `name` is "cuda:0".
absl::Status CheckCapability(const std::string& name, const DeviceInfo& info);

}  // namespace ampc
