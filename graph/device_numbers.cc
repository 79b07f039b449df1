#include "graph/device_numbers.h"

namespace ampc {
namespace {

// A GPU by its data sheet: products without sparsity, bytes of its memory. Of these kernels reach two thirds and 85 %. Depthwise
// convolutions use no matrix units.
constexpr DeviceNumbers Cuda(absl::string_view name, double f32, double f16, double bf16, double bytes) {
  constexpr double kFlops = 0.67, kBytes = 0.85, kGrouped = 0.3;
  return {.name = name,
          .f32_flops = kFlops * f32,
          .bf16_flops = kFlops * bf16,
          .f16_flops = kFlops * f16,
          .f32_grouped = kGrouped * f32,
          .bf16_grouped = bf16 == 0 ? 0 : kGrouped * 2 * f32,
          .f16_grouped = kGrouped * 2 * f32,
          .near_bytes = kBytes * bytes,
          .far_bytes = kBytes * bytes,
          .converted = kBytes * bytes / 6,
          .sweep = 2.5e-6};
}

// CPUs: of one core each, rounded to one digit or two, with oneDNN's convolutions of ResNet-50 and depthwise ones of MobileNet, and with
// element-wise sweeps over 6 kB to 50 MB. avx512_bf16 was measured; the others are estimates from its numbers and from what their
// instructions do in a cycle.
constexpr DeviceNumbers kDevices[] = {
    {.name = "avx2",
     .f32_flops = 9e10,
     .f32_grouped = 3e10,
     .near_bytes = 5e10,
     .far_bytes = 1.5e10,
     .near = 2.5e5,
     .kept = 2.5e5,
     .converted = 3e9,
     .in_tiles = 8e9,
     .lanes = 8,
     .joined = 1.5e10,
     .sweep = 3e-7},
    {.name = "avx512",
     .f32_flops = 1.5e11,
     .f32_grouped = 4.5e10,
     .near_bytes = 8e10,
     .far_bytes = 2e10,
     .near = 5e5,
     .kept = 5e5,
     .converted = 4e9,
     .in_tiles = 1.6e10,
     .lanes = 16,
     .joined = 3e10,
     .sweep = 3e-7},
    {.name = "avx512_bf16",
     .f32_flops = 2.6e11,
     .bf16_flops = 5.2e11,
     .f32_grouped = 8e10,
     .bf16_grouped = 1.1e11,
     .near_bytes = 8e10,
     .far_bytes = 2.5e10,
     .near = 8e6,
     .kept = 5e5,
     .converted = 5e9,
     .in_tiles = 1.6e10,
     .lanes = 16,
     .joined = 3e10,
     .sweep = 3e-7},
    {.name = "amx",
     .f32_flops = 1.5e11,
     .bf16_flops = 1.2e12,
     .f32_grouped = 4.5e10,
     .bf16_grouped = 5.5e10,
     .near_bytes = 8e10,
     .far_bytes = 2.5e10,
     .near = 1e6,
     .kept = 1e6,
     .converted = 4e9,
     .in_tiles = 1.6e10,
     .lanes = 16,
     .joined = 3e10,
     .sweep = 3e-7},
    // GPUs, not measured: V100, T4, A100, A10, L4, H100, B200, RTX 5090.
    Cuda("cuda:7.0", 15.7e12, 125e12, 0, 0.9e12),
    Cuda("cuda:7.5", 8.1e12, 65e12, 0, 0.32e12),
    Cuda("cuda:8.0", 19.5e12, 312e12, 312e12, 1.56e12),
    Cuda("cuda:8.6", 31.2e12, 125e12, 125e12, 0.6e12),
    Cuda("cuda:8.9", 30.3e12, 121e12, 121e12, 0.3e12),
    Cuda("cuda:9.0", 67e12, 989e12, 989e12, 3.35e12),
    Cuda("cuda:10.0", 75e12, 2250e12, 2250e12, 8e12),
    Cuda("cuda:12.0", 105e12, 209e12, 209e12, 1.79e12),
};

}  // namespace

absl::Span<const DeviceNumbers> AllDeviceNumbers() { return kDevices; }

const DeviceNumbers* FindDeviceNumbers(absl::string_view name) {
  for (const DeviceNumbers& device : kDevices) {
    if (device.name == name) return &device;
  }
  return nullptr;
}

}  // namespace ampc
