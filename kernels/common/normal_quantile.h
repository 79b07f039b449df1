// The inverse of the normal distribution function.
#pragma once

#include <cmath>
#include <numbers>

#include "kernels/common/host_device.h"

namespace ampc {

// The x with P(normal < x) = p, for p in (0.02, 0.98): bisection would do, Newton's method is there in a few steps.
AMPC_HOST_DEVICE inline double NormalQuantile(double p) {
  double x = 0;
  for (int i = 0; i < 40; ++i) {
    const double below = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    const double density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    const double step = (below - p) / density;
    x -= step;
    if (std::abs(step) < 1e-14) break;
  }
  return x;
}

}  // namespace ampc
