// OpenDevice: from a device's name to the device.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/device/device.h"
#include "kernels/kernel_registry.h"

namespace ampc {

class CollectiveLibrary;  // kernels/device/collectives.h

// A device together with the kernels that compute on it, and the library by which several such devices work together.
struct DeviceTarget {
  std::shared_ptr<Device> device;
  const KernelRegistry* kernels = nullptr;
  CollectiveLibrary* collectives = nullptr;
};

// `name` is "cuda", "cuda:1", or one of AddDeviceBackend; "cpu" is a target without a device. The same device is one object in a process
// while somebody uses it. Usage error for a name of another form; exit code 4, in one sentence with the reason, for a build without CUDA,
// no driver, no such device, a compute capability below 7.5. `warn` gets a sentence when the device has no tensor cores. Thread-safe.
absl::StatusOr<DeviceTarget> OpenDevice(const std::string& name, const std::function<void(const std::string&)>& warn = nullptr);

// Adds a backend of another name, for tests. Not while another thread opens devices.
using OpenBackendFn = absl::StatusOr<DeviceTarget> (*)(int index);
void AddDeviceBackend(const std::string& name, OpenBackendFn open);

}  // namespace ampc
