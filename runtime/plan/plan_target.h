// PlanTarget: the device that plans are made for, and what they share there.
#pragma once

#include "kernels/device/open_device.h"

namespace ampc {

class DeviceConstants;  // runtime/plan/device_constants.h

struct PlanTarget {
  DeviceTarget device;                   // with kernels
  DeviceConstants* constants = nullptr;  // outlives the plans
  Stream* stream = nullptr;              // of all runs, one after the other; null: each run has one of its own
};

}  // namespace ampc
