// ScalarMath with a Phi of float that is exact to a few units in the last place in its tail, too, where the rounding of the argument of
// erfc would cost tens of them. For kernels of devices; vector code of the CPU has its own.
#pragma once

#include <cmath>

#include "kernels/common/functors.h"
#include "kernels/common/host_device.h"

namespace ampc::functors {

template <typename Float>
struct PreciseMath : ScalarMath<Float> {};

template <>
struct PreciseMath<float> : ScalarMath<float> {
  // erfc(z + d) = erfc(z) - d 2 / sqrt(pi) exp(-z^2), where z + d is -v / sqrt 2 in twice the digits.
  static AMPC_HOST_DEVICE float Phi(float v) {
    constexpr float kHigh = -0.70710678118654752f;
    constexpr float kLow = static_cast<float>(-0.70710678118654752 - static_cast<double>(kHigh));
    const float z = v * kHigh;
    if (!(z > 1 && z < 10)) return 0.5f * std::erfc(z);  // 0 from 10 on
    const float d = std::fma(v, kHigh, -z) + v * kLow;
    return 0.5f * (std::erfc(z) - d * 1.1283791670955126f * std::exp(-z * z));
  }
};

}  // namespace ampc::functors
