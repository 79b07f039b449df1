// Parameters of normalisations and their gradients, alike on every device.
#pragma once

#include <cstdint>

#include "kernels/cpu/base/spec_view.h"

namespace ampc {

// layer_norm: each row has statistics of its own.
struct LayerNormShape {
  int64_t rows = 1, size = 1;
  double epsilon = 1e-5;
};
LayerNormShape ReadLayerNorm(const Op& op, const Dims& x);

// batch_norm, group_norm and instance_norm (a group per channel): X as [images, channels, spatial], or in memory as
// [images, spatial, channels] when `last`.
struct NormShape {
  int64_t images = 1, channels = 1, spatial = 1, groups = 1;
  bool last = false;  // and there is more than one position
  double epsilon = 1e-5;
};
NormShape ReadNormShape(const Op& op, const TensorDesc& x);

}  // namespace ampc
