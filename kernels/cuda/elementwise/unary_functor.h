// A functor of kernels/common as a map on the device: for the .cu files of unary maps and gradients.
#pragma once

#include "kernels/common/functors.h"
#include "kernels/common/gradient_functors.h"
#include "kernels/common/precise_math.h"
#include "kernels/cuda/elementwise/unary.h"

namespace ampc::cuda {

// The result of Prepare: the parameters in the class of the values.
template <class C, class F>
struct Prepared {
  functors::Params<C> params;
  AMPC_HOST_DEVICE C operator()(C x) const { return F::Apply(functors::PreciseMath<C>{}, x, params); }
  AMPC_HOST_DEVICE C operator()(C v, C g) const { return F::Apply(functors::PreciseMath<C>{}, v, g, params); }
};

template <class C, class F>
struct Parametric {
  ScalarSource a, b, c;
  AMPC_HOST_DEVICE Prepared<C, F> Prepare() const { return {{static_cast<C>(a.Get()), static_cast<C>(b.Get()), static_cast<C>(c.Get())}}; }
};

template <class C, class F>
int LaunchFunctor(void* stream, const UnaryParams& p) {
  return LaunchMap<C, 1>(stream, p.map, Parametric<C, F>{p.a, p.b, p.c});
}

template <class C, class F>
int LaunchGradientFunctor(void* stream, const UnaryGradientParams& p) {
  return LaunchMap<C, 2>(stream, p.map, Parametric<C, F>{p.a, p.b, p.c});
}

}  // namespace ampc::cuda
