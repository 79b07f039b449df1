// Launchers of softmax, log_softmax and their gradients along an axis. 0 or a code for Device::LaunchStatus. Sums are taken in double over
// packs of float32. A row that fits into a team's memory is read once.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/cuda/launch/rows.h"

namespace ampc::cuda {

// Of float types, all operands alike. `out` may be any of the operands.
struct SoftmaxParams {
  AxisRows rows = {};
  DType dtype = DType::kF32;
  bool log = false;
  const void* x = nullptr;  // of a gradient: the result of the forward op
  const void* g = nullptr;  // of a gradient: that result's
  void* out = nullptr;
};
int LaunchSoftmax(void* stream, const SoftmaxParams& p);
int LaunchSoftmaxGradient(void* stream, const SoftmaxParams& p);

}  // namespace ampc::cuda
