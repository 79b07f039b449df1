// A convolution's epilogue in device code.
#pragma once

#include <cmath>

#include "kernels/cuda/base/activate.h"
#include "kernels/cuda/base/volume.h"
#include "kernels/cuda/conv/conv_code.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {

// `sum` with the bias of `channel` and the residual, where there are, activated, in float32; T is the result's type. As on the CPU, where
// the convolution's library activates, NaN becomes 0 in relu, relu6 and hard_sigmoid.
template <class T>
AMPC_HOST_DEVICE inline float Finish(const ConvEpilogue& e, int64_t channel, float sum, float residual) {
  if (e.bias != nullptr) {
    sum += e.bias_type == DType::kF32 ? static_cast<const float*>(e.bias)[channel]
                                      : static_cast<float>(Load(static_cast<const T*>(e.bias)[channel]));
  }
  if (e.residual.data != nullptr) sum += residual;
  const ActivationKind kind = e.activation.kind;
  const bool lost = sum != sum && (kind == ActivationKind::kRelu || kind == ActivationKind::kRelu6 || kind == ActivationKind::kHardSigmoid);
  return Activate(e.activation, lost ? -INFINITY : sum);
}

// The same at a position of the result.
template <class T>
AMPC_HOST_DEVICE inline float Finish(const ConvEpilogue& e, const VolumeIndex& at, float sum) {
  const bool adds = e.residual.data != nullptr;
  return Finish<T>(e, at.c, sum, adds ? static_cast<float>(Load(static_cast<const T*>(e.residual.data)[OffsetOf(e.residual, at)])) : 0.0f);
}

}  // namespace ampc::cuda
