// Which positions of an axis a resized position is made of, as the framework computes it: ratios in float32.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace ampc {

struct InterpAxis {
  int64_t in = 1, out = 1;
  float ratio = 0;
  int taps = 1;  // neighbours: 1 nearest, 2 linear, 4 cubic
  bool align_corners = true;
  bool half_pixel = false;  // pixel centres lie at i + 0.5
};

inline constexpr int kMaxTaps = 4;

// Weights of the positions -1, 0, 1, 2 for a point at `t` in [0, 1), by cubic convolution with a = -0.75.
template <typename T>
AMPC_HOST_DEVICE inline void CubicWeights(T t, T* weights) {
  constexpr T a = T(-0.75);
  const auto near = [](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  weights[0] = far(t + 1);
  weights[1] = near(t);
  weights[2] = near(1 - t);
  weights[3] = far(2 - t);
}

// Position i of the result is the sum over k < taps of weight[k] times position clamp(first + k) of the operand. Returns `first`, which
// does not fall as i grows.
template <typename T>
AMPC_HOST_DEVICE inline int64_t InterpTaps(const InterpAxis& axis, int64_t i, T* weight) {
  const double plain = axis.ratio * static_cast<float>(i);
  const double point = axis.half_pixel ? axis.ratio * (static_cast<double>(i) + 0.5) - 0.5 : plain;
  if (axis.taps == 1) {
    weight[0] = 1;
    return static_cast<int64_t>(plain + (axis.align_corners ? 0.5 : 0.0));
  }
  if (axis.taps == 2) {
    const double inside = point > 0.0 ? point : 0.0;
    const int64_t floor = static_cast<int64_t>(inside), low = floor < axis.in - 1 ? floor : axis.in - 1;
    weight[1] = static_cast<T>(static_cast<float>(inside) - static_cast<float>(low));
    weight[0] = 1 - weight[1];
    return low;
  }
  const T at = static_cast<T>(point), low = std::floor(at);
  CubicWeights<T>(at - low, weight);
  return static_cast<int64_t>(low) - 1;
}

AMPC_HOST_DEVICE inline int64_t InterpPosition(const InterpAxis& axis, int64_t at) { return at < 0 ? 0 : at >= axis.in ? axis.in - 1 : at; }

}  // namespace ampc
