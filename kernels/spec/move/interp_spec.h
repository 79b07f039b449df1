// Parameters of {linear,bilinear,trilinear,bicubic,nearest}_interp_v2 and their gradients.
#pragma once

#include <array>

#include "absl/status/statusor.h"
#include "kernels/common/interp_taps.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

struct InterpSpec {
  int64_t planes = 0, channels = 1;  // n * c planes of 1 channel, or n of c where the channels lie last
  int taps = 1;
  std::array<InterpAxis, 3> axes;  // depth, height, width; what is absent has size 1 and one tap
};
// From an operand like `x` to a result like `out`. Unsupported without a position to sample.
absl::StatusOr<InterpSpec> ReadInterp(const SpecView& view, const TensorDesc& x, const TensorDesc& out);

}  // namespace ampc
