// The derivatives of the element-wise ops and reductions on scalars, for host and device:
// functors::ReluGrad::Apply(ScalarMath<float>{}, y, g, params).
#pragma once

#include "kernels/common/functors.h"

namespace ampc::functors {

#define AMPC_FN AMPC_HOST_DEVICE inline
#include "kernels/common/gradient_functors.inc"
#undef AMPC_FN

}  // namespace ampc::functors

// Every functor, for enumerations and tables: X(Name).
// clang-format off
#define AMPC_BROADCAST_GRADIENTS(X)                                                                                                    \
  X(FirstGrad) X(SubGradY) X(MulGradX) X(MulGradY) X(DivGradX) X(DivGradY) X(MaxGradX) X(MaxGradY) X(MinGradX) X(MinGradY)             \
  X(FMaxGradX) X(FMaxGradY) X(FMinGradX) X(FMinGradY) X(PowGradX) X(PowGradY) X(ModGradY) X(Atan2GradX) X(Atan2GradY) X(PreluGradX)    \
  X(PreluGradY)

#define AMPC_REDUCTION_GRADIENTS(X)                                                                                                    \
  X(ScaledGrad) X(ExtremeGrad) X(LogSumExpGrad) X(NormOneGrad) X(NormTwoGrad) X(NormExtremeGrad) X(NormPowerGrad)
// clang-format on
