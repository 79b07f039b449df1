// The emulated device: a Device whose memory is the host's and whose streams do their work on the CPU, as late as a device may: when
// somebody waits, and then only the work of that stream and what it waits for. Code that reads results without waiting, forgets that one
// stream waits for another, uses freed or staging memory too early or waits during a capture is thereby wrong here as it is there; fresh
// and freed memory is poisoned, copies check that addresses are the device's. For tests; slow.
#pragma once

#include <memory>

#include "kernels/device/open_device.h"

namespace ampc {

// Makes "emulated:0" and "emulated:1" known to OpenDevice, with the kernels of `kernels`.
void AddEmulatedDevice(const KernelRegistry& kernels);

std::shared_ptr<Device> NewEmulatedDevice(int index, int64_t memory_bytes = int64_t{8} << 30);

// How often Event::Done says no about work that nobody has waited for before the work is done; 0 after NewEmulatedDevice.
void SetEmulatedDelay(Device& device, int asks);

// How many kernels the host has launched on the device, those of libraries too; the kernels of a graph when it was captured.
int64_t EmulatedLaunches(Device& device);

}  // namespace ampc
