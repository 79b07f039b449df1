// DeviceNumbers: what a device does in a second, as data, for cost models. With the flops and bytes that an op's record says, they give a
// time.
#pragma once

#include "absl/strings/string_view.h"

namespace ampc {

struct DeviceNumbers {
  absl::string_view name;
  // Of one core: products and convolutions of float32 and of bf16 (0: no instructions for it),
  double f32_flops = 0, bf16_flops = 0;
  double bytes = 0;      // read or written by a sweep over values in the caches,
  double converted = 0;  // and elements widened or rounded by a sweep of its own.
  double sweep = 0;      // seconds of a sweep besides
};

// By name, among them the CPUs that //kernels/lib tells apart: "avx2", "avx512", "avx512_bf16", "amx"; null for another.
const DeviceNumbers* FindDeviceNumbers(absl::string_view name);

}  // namespace ampc
