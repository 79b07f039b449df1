// Which of the CPUs of graph/device_numbers.h this one is, as oneDNN uses it.
#pragma once

#include "graph/device_numbers.h"

namespace ampc::onednn {

const DeviceNumbers& CpuNumbers();

}  // namespace ampc::onednn
