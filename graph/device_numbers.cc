#include "graph/device_numbers.h"

namespace ampc {
namespace {

// Measured on one core each with oneDNN's convolutions of ResNet-50 and with element-wise sweeps over 1 MB, rounded to one digit or two.
constexpr DeviceNumbers kDevices[] = {
    {.name = "avx2", .f32_flops = 9e10, .bytes = 3e10, .converted = 3e9, .sweep = 3e-7},
    {.name = "avx512", .f32_flops = 1.5e11, .bytes = 4e10, .converted = 4e9, .sweep = 3e-7},
    {.name = "avx512_bf16", .f32_flops = 2.6e11, .bf16_flops = 5.2e11, .bytes = 5e10, .converted = 5e9, .sweep = 3e-7},
    {.name = "amx", .f32_flops = 1.5e11, .bf16_flops = 1.2e12, .bytes = 4e10, .converted = 4e9, .sweep = 3e-7},
};

}  // namespace

const DeviceNumbers* FindDeviceNumbers(absl::string_view name) {
  for (const DeviceNumbers& device : kDevices) {
    if (device.name == name) return &device;
  }
  return nullptr;
}

}  // namespace ampc
