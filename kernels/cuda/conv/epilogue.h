// A convolution's epilogue in device code.
#pragma once

#include "kernels/cuda/base/activate.h"
#include "kernels/cuda/base/volume.h"
#include "kernels/cuda/conv/conv_code.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {

// `sum` with the bias of `channel` and the residual, where there are, activated, in float32; T is the result's type.
template <class T>
AMPC_HOST_DEVICE inline float Finish(const ConvEpilogue& e, int64_t channel, float sum, float residual) {
  if (e.bias != nullptr) {
    sum += e.bias_type == DType::kF32 ? static_cast<const float*>(e.bias)[channel]
                                      : static_cast<float>(Load(static_cast<const T*>(e.bias)[channel]));
  }
  if (e.residual.data != nullptr) sum += residual;
  return Activate(e.activation, sum);
}

// The same at a position of the result.
template <class T>
AMPC_HOST_DEVICE inline float Finish(const ConvEpilogue& e, const VolumeIndex& at, float sum) {
  const bool adds = e.residual.data != nullptr;
  return Finish<T>(e, at.c, sum, adds ? static_cast<float>(Load(static_cast<const T*>(e.residual.data)[OffsetOf(e.residual, at)])) : 0.0f);
}

}  // namespace ampc::cuda
