#include "kernels/cuda/elementwise/unary_functor.h"

namespace ampc::cuda {
namespace {

using Fn = int (*)(void*, const UnaryGradientParams&);

#define AMPC_ENTRY(name) &LaunchGradientFunctor<float, functors::name>,
constexpr Fn kFloat[] = {AMPC_UNARY_GRADIENTS(AMPC_ENTRY)};
#undef AMPC_ENTRY

}  // namespace

int LaunchUnaryGradient(void* stream, const UnaryGradientParams& p) {
  return p.map.out.dtype == DType::kF64 ? LaunchUnaryGradientDouble(stream, p) : kFloat[static_cast<int>(p.functor)](stream, p);
}

}  // namespace ampc::cuda
