#include "kernels/cuda/elementwise/unary_functor.h"

namespace ampc::cuda {
namespace {

using Fn = int (*)(void*, const UnaryParams&);

#define AMPC_ENTRY(name) &LaunchFunctor<double, functors::name>,
constexpr Fn kDouble[] = {AMPC_UNARY_FUNCTORS(AMPC_ENTRY)};
#undef AMPC_ENTRY

}  // namespace

int LaunchUnaryDouble(void* stream, const UnaryParams& p) { return kDouble[static_cast<int>(p.functor)](stream, p); }

}  // namespace ampc::cuda
