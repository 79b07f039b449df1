#include "runtime/convert/target_numbers.h"

#include "kernels/lib/cpu_numbers.h"

namespace ampc {

const DeviceNumbers& NumbersOfTarget(absl::string_view target) {
  if (target == "cpu") return onednn::CpuNumbers();
  const DeviceNumbers* gpu = FindDeviceNumbers(target);
  return gpu != nullptr ? *gpu : *FindDeviceNumbers("cuda:8.0");
}

}  // namespace ampc
