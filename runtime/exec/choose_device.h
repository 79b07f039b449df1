// ChooseDevice: from what a user's options say to where a program runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/device/open_device.h"

namespace ampc {

struct DeviceOptions {
  std::string device = "cpu";      // or a name of OpenDevice
  int threads = 0;                 // 0: all processors
  bool tf32 = false;               // see Tf32Device
  int64_t memory_limit_bytes = 0;  // of the device's allocator, which everything on that device in this process shares; 0: as it is
};

struct DeviceChoice {
  int threads = 1;
  std::optional<DeviceTarget> target;  // none: the CPU
};

inline constexpr int kMaxThreads = 4096;

// Errors: those of OpenDevice; usage for a negative number and for more threads than kMaxThreads; internal where the system does not let
// this process have the threads: OpenMP would end it, later and without a word of ours.
absl::StatusOr<DeviceChoice> ChooseDevice(const DeviceOptions& options);

}  // namespace ampc
