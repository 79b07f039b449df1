// Launchers of maps of one operand, and of their gradients.
#pragma once

#include "graph/base/dtype.h"
#include "kernels/common/functor_ids.h"
#include "kernels/cuda/elementwise/scalar_source.h"
#include "kernels/cuda/launch/elementwise.h"

namespace ampc::cuda {

struct UnaryParams {
  functors::UnaryOp functor;
  MapParams<1> map;
  ScalarSource a, b, c;
};
// Computes in the class of the result's type, which is the operand's, too. For integers only functors of HasIntegers.
int LaunchUnary(void* stream, const UnaryParams& p);

// in[0] is X or Out, in[1] the gradient of Out.
struct UnaryGradientParams {
  functors::UnaryGradient functor;
  MapParams<2> map;
  ScalarSource a, b, c;
};
int LaunchUnaryGradient(void* stream, const UnaryGradientParams& p);

// The parts of the launchers above in files of their own, by the class of the computation.
int LaunchUnaryDouble(void* stream, const UnaryParams& p);
int LaunchUnaryInteger(void* stream, const UnaryParams& p);
int LaunchUnaryGradientDouble(void* stream, const UnaryGradientParams& p);

}  // namespace ampc::cuda
