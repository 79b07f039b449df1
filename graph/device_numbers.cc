#include "graph/device_numbers.h"

namespace ampc {
namespace {

// Of one core each, rounded to one digit or two, with oneDNN's convolutions of ResNet-50 and with element-wise sweeps over 6 kB and 4 MB.
// avx512_bf16 was measured; the others are estimates from its numbers and from what their instructions do in a cycle.
constexpr DeviceNumbers kDevices[] = {
    {.name = "avx2",
     .f32_flops = 9e10,
     .f32_grouped = 3e10,
     .near_bytes = 5e10,
     .far_bytes = 1.5e10,
     .near = 2.5e5,
     .converted = 3e9,
     .in_tiles = 8e9,
     .sweep = 3e-7},
    {.name = "avx512",
     .f32_flops = 1.5e11,
     .f32_grouped = 4.5e10,
     .near_bytes = 8e10,
     .far_bytes = 2e10,
     .near = 5e5,
     .converted = 4e9,
     .in_tiles = 1.6e10,
     .sweep = 3e-7},
    {.name = "avx512_bf16",
     .f32_flops = 2.6e11,
     .bf16_flops = 5.2e11,
     .f32_grouped = 4.5e10,
     .bf16_grouped = 5.5e10,
     .near_bytes = 8e10,
     .far_bytes = 2.5e10,
     .near = 5e5,
     .converted = 5e9,
     .in_tiles = 1.6e10,
     .sweep = 3e-7},
    {.name = "amx",
     .f32_flops = 1.5e11,
     .bf16_flops = 1.2e12,
     .f32_grouped = 4.5e10,
     .bf16_grouped = 5.5e10,
     .near_bytes = 8e10,
     .far_bytes = 2.5e10,
     .near = 1e6,
     .converted = 4e9,
     .in_tiles = 1.6e10,
     .sweep = 3e-7},
};

}  // namespace

const DeviceNumbers* FindDeviceNumbers(absl::string_view name) {
  for (const DeviceNumbers& device : kDevices) {
    if (device.name == name) return &device;
  }
  return nullptr;
}

}  // namespace ampc
