// The device that a test of kernels runs on: the emulated one, or the first CUDA device, by what the test links.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/device/device.h"

namespace ampc::testing {

// Unsupported (exit code 4) with the reason where there is none: the test is skipped.
absl::StatusOr<std::shared_ptr<Device>> DeviceUnderTest();

}  // namespace ampc::testing
