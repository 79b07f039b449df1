// Which of the CPUs of graph/device_numbers.h this one is, as oneDNN uses it.
#pragma once

#include <string>

#include "graph/device_numbers.h"

namespace ampc::onednn {

const DeviceNumbers& CpuNumbers();

// "avx512_bf16, oneDNN 2.6.2": what decides which implementations there are.
std::string CpuText();

}  // namespace ampc::onednn
