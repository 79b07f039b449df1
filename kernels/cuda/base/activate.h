// A fused kernel's activation in device code.
#pragma once

#include "kernels/common/activation.h"
#include "kernels/common/functors.h"
#include "kernels/common/host_device.h"

namespace ampc::cuda {

// scale * activation(x) + shift in float32, as ApplyActivation (kernels/lib/activation.h) computes it; NaN to NaN.
AMPC_HOST_DEVICE inline float Activate(const Activation& act, float x) {
  using functors::ScalarMath;
  const ScalarMath<float> m;
  const functors::Params<float> p{act.alpha, act.beta, 0};
  float y = x;
  switch (act.kind) {
    case ActivationKind::kNone: break;
    case ActivationKind::kRelu: y = functors::Relu::Apply(m, x, p); break;
    case ActivationKind::kRelu6: y = functors::Clip::Apply(m, x, functors::Params<float>{0, act.alpha, 0}); break;
    case ActivationKind::kLeakyRelu: y = functors::LeakyRelu::Apply(m, x, p); break;
    case ActivationKind::kSigmoid: y = functors::Sigmoid::Apply(m, x, p); break;
    case ActivationKind::kTanh: y = functors::Tanh::Apply(m, x, p); break;
    case ActivationKind::kGelu: y = functors::Gelu::Apply(m, x, p); break;
    case ActivationKind::kGeluTanh: y = functors::GeluTanh::Apply(m, x, p); break;
    case ActivationKind::kSwish: y = functors::Swish::Apply(m, x, p); break;
    case ActivationKind::kHardSwish: y = functors::HardSwish::Apply(m, x, functors::Params<float>{6, 6, 3}); break;
    case ActivationKind::kHardSigmoid: y = functors::HardSigmoid::Apply(m, x, p); break;
  }
  return act.scale == 1 && act.shift == 0 ? y : act.scale * y + act.shift;
}

}  // namespace ampc::cuda
