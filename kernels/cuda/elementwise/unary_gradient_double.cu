#include "kernels/cuda/elementwise/unary_functor.h"

namespace ampc::cuda {
namespace {

using Fn = int (*)(void*, const UnaryGradientParams&);

#define AMPC_ENTRY(name) &LaunchGradientFunctor<double, functors::name>,
constexpr Fn kDouble[] = {AMPC_UNARY_GRADIENTS(AMPC_ENTRY)};
#undef AMPC_ENTRY

}  // namespace

int LaunchUnaryGradientDouble(void* stream, const UnaryGradientParams& p) { return kDouble[static_cast<int>(p.functor)](stream, p); }

}  // namespace ampc::cuda
