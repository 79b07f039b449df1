// Launchers of group_norm and instance_norm and their gradients; the formulas are those of kernels/cpu/group_norm.cc and
// kernels/cpu/gradient/norm.cc. 0 or a code for Device::LaunchStatus. Sums are taken in double over runs of at most 16 float32.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch/any.h"
#include "kernels/cuda/reduce/reduce_shape.h"

namespace ampc::cuda {

// X as [images, channels, spatial], or [images, spatial, channels] when `last`.
struct GroupNormParams {
  int64_t images = 1, channels = 1, spatial = 1, groups = 1;
  bool last = false;
  bool inverted = false;  // `variance` is 1 / sqrt(variance + epsilon)
  double epsilon = 1e-5;
  DType dtype = DType::kF32;     // of x, y, g and dx: f32, f16 or bf16
  ReduceShape of_groups = {};    // X over the elements of a group; results [images, groups]
  ReduceShape of_channels = {};  // X over the elements of a channel; results [images, channels]; for gradients
  const void* x = nullptr;
  AnyInput scale = {}, bias = {};      // data null: ones, zeros
  void* y = nullptr;                   // may be x
  AnyOutput mean = {}, variance = {};  // data null: not wanted

  const void* g = nullptr;                        // of a gradient
  AnyInput saved_mean = {}, saved_variance = {};  // data null: computed from x
  void* dx = nullptr;                             // null: not wanted; may be g
  AnyOutput dscale = {}, dbias = {};
  void* workspace = nullptr;  // GroupNormBytes

  AMPC_HOST_DEVICE int64_t size() const { return channels / groups; }  // channels of a group
  AMPC_HOST_DEVICE int64_t num_groups() const { return images * groups; }
  AMPC_HOST_DEVICE int64_t num_channels() const { return images * channels; }
  AMPC_HOST_DEVICE int64_t count() const { return size() * spatial; }  // elements of a group
};

// Statistics of groups, four numbers and two sums of each channel, partial sums.
inline int64_t GroupNormBytes(const GroupNormParams& p) {
  const int64_t parts = p.of_groups.parts() > p.of_channels.parts() ? p.of_groups.parts() : p.of_channels.parts();
  return (p.num_groups() * 8 + 15) / 16 * 16 + 32 * p.num_channels() + 16 * parts;
}
int LaunchGroupNorm(void* stream, const GroupNormParams& p);
int LaunchGroupNormGradient(void* stream, const GroupNormParams& p);

}  // namespace ampc::cuda
