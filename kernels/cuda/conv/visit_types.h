// The types that convolutions compute on, for device code.
#pragma once

#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {

template <class F>
int VisitStored(DType type, F f) {
  switch (type) {
    case DType::kF32:
      return f(TypeTag<float>{});
    case DType::kF16:
      return f(TypeTag<Half>{});
    case DType::kBF16:
      return f(TypeTag<BFloat16>{});
    default:
      return -1;
  }
}

// A type, and another that may be f32 beside a half.
template <class F>
int VisitTypes(DType type, DType filter, F f) {
  return VisitStored(type, [&](auto t) { return filter == DType::kF32 ? f(t, TypeTag<float>{}) : f(t, t); });
}

}  // namespace ampc::cuda
