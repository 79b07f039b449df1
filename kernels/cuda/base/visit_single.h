// The switch over the float types that are computed in float32, for device code that has no f64.
#pragma once

#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {

// f(TypeTag<T>{}) for f32, f16 and bf16; -1 for another type.
template <class F>
int VisitSingle(DType type, F f) {
  switch (type) {
    case DType::kF32: return f(TypeTag<float>{});
    case DType::kF16: return f(TypeTag<Half>{});
    case DType::kBF16: return f(TypeTag<BFloat16>{});
    default: return -1;
  }
}

}  // namespace ampc::cuda
