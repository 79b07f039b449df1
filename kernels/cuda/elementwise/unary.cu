// Maps of one operand in float; see unary_double.cu and unary_integer.cu for the other classes.
#include "kernels/cuda/elementwise/unary.h"

#include "kernels/cuda/elementwise/unary_functor.h"

namespace ampc::cuda {
namespace {

using Fn = int (*)(void*, const UnaryParams&);

#define AMPC_ENTRY(name) &LaunchFunctor<float, functors::name>,
constexpr Fn kFloat[] = {AMPC_UNARY_FUNCTORS(AMPC_ENTRY)};
#undef AMPC_ENTRY

}  // namespace

int LaunchUnary(void* stream, const UnaryParams& p) {
  switch (p.map.out.dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return kFloat[static_cast<int>(p.functor)](stream, p);
    case DType::kF64: return LaunchUnaryDouble(stream, p);
    default: return LaunchUnaryInteger(stream, p);
  }
}

}  // namespace ampc::cuda
