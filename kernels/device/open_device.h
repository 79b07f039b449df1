// OpenDevice: from a device's name to the device.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/device/device.h"
#include "kernels/kernel.h"

namespace ampc {

// A device together with the kernels that compute on it.
struct DeviceTarget {
  std::shared_ptr<Device> device;
  const KernelRegistry* kernels = nullptr;
};

// `name` is "cuda", "cuda:1", or one of AddDeviceBackend. The same device is one object in a process while somebody uses it. Usage
// error for a name of another form; exit code 4, in one sentence with the reason, for a build without CUDA, no driver, no library, no such device, a
// compute capability below 7.5. Thread-safe.
absl::StatusOr<DeviceTarget> OpenDevice(const std::string& name);

// Adds a backend of another name, for tests. Not while another thread opens devices.
using OpenBackendFn = absl::StatusOr<DeviceTarget> (*)(int index);
void AddDeviceBackend(const std::string& name, OpenBackendFn open);

}  // namespace ampc
