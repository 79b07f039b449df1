// A convolution's epilogue in device code.
#pragma once

#include <cmath>

#include "kernels/cuda/base/activate.h"
#include "kernels/cuda/base/volume.h"
#include "kernels/cuda/conv/conv_code.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {

// `sum` with what is added at `p`, activated, in float32; T is the result's type. As on the CPU, where the convolution's library activates,
// NaN becomes 0 in relu, relu6 and hard_sigmoid.
template <class T>
AMPC_HOST_DEVICE inline float Finish(const ConvEpilogue& e, const VolumeIndex& p, float sum) {
  if (e.bias != nullptr) {
    sum +=
        e.bias_type == DType::kF32 ? static_cast<const float*>(e.bias)[p.c] : static_cast<float>(Load(static_cast<const T*>(e.bias)[p.c]));
  }
  if (e.residual.data != nullptr) sum += static_cast<float>(Load(static_cast<const T*>(e.residual.data)[OffsetOf(e.residual, p)]));
  const ActivationKind kind = e.activation.kind;
  const bool lost = sum != sum && (kind == ActivationKind::kRelu || kind == ActivationKind::kRelu6 || kind == ActivationKind::kHardSigmoid);
  return Activate(e.activation, lost ? -INFINITY : sum);
}

}  // namespace ampc::cuda
