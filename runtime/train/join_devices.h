// The devices of a job's processes: one process, one device.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "kernels/device/open_device.h"

namespace ampc {

// "cuda" for the device of this process among those on its machine, "cuda:<local rank>", where mpirun started several processes; all other
// names as they are.
std::string DeviceOfProcess(const std::string& name);

// Joins this process's device with those of the other processes of the job (DataParallel::FromEnvironment), so that collective ops exchange
// between devices (kernels/device/device_job.h); does nothing in a process of its own, for a device without collectives, and for the
// device that is joined already. All processes call it. Errors: those of CollectiveLibrary.
absl::Status JoinDevices(const DeviceTarget& target);

}  // namespace ampc
