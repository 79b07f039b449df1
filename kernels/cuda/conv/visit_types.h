// The types that convolutions compute on, for device code.
#pragma once

#include "kernels/cuda/base/visit_single.h"

namespace ampc::cuda {

// A type, and another that may be f32 beside a half.
template <class F>
int VisitTypes(DType type, DType filter, F f) {
  return VisitSingle(type, [&](auto t) { return filter == DType::kF32 ? f(t, TypeTag<float>{}) : f(t, t); });
}

}  // namespace ampc::cuda
