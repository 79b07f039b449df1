// DeviceNumbers: what a device does in a second, as data, for cost models. With the flops and bytes that an op's record says, they give a
// time.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ampc {

struct DeviceNumbers {
  absl::string_view name;
  // Of one core, or a whole GPU: products and convolutions of float32, bf16 and f16 (0: no instructions for it),
  double f32_flops = 0, bf16_flops = 0, f16_flops = 0;
  double f32_grouped = 0, bf16_grouped = 0, f16_grouped = 0;  // of convolutions in groups, depthwise ones mostly,
  double near_bytes = 0;                                      // read or written by a sweep over a value that the nearest caches hold,
  double far_bytes = 0;                                       // and over a larger one;
  double near = 0;                                            // bytes of the largest such value,
  double kept = 0;                                            // and of the largest that is still there when the next op reads it.
  double converted = 0;                                       // Elements widened or rounded by a sweep of its own,
  double in_tiles = 0;                                        // and by a kernel that computes on them at once; 0: that takes no time.
  double lanes = 1;                                           // Results of a product that are computed together: others are padding.
  double joined = 0;                                          // Elements of an op that is a part of the one before; 0: none is.
  double sweep = 0;                                           // seconds of a sweep, or of starting a kernel, besides
};

// The CPUs that //kernels/lib tells apart: "avx2", "avx512", "avx512_bf16", "amx"; and GPUs by their compute capability: "cuda:8.0".
absl::Span<const DeviceNumbers> AllDeviceNumbers();
// By name; null for another.
const DeviceNumbers* FindDeviceNumbers(absl::string_view name);

}  // namespace ampc
