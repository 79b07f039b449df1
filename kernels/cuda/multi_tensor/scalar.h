// A number that a kernel gets by value, or reads in device memory when it runs: one f32 or f64.
#pragma once

#include "graph/base/dtype.h"
#include "kernels/common/host_device.h"

namespace ampc::cuda {

struct Scalar {
  const void* at = nullptr;  // null: `fixed`
  DType type = DType::kF32;
  double fixed = 0;

  AMPC_HOST_DEVICE double Get() const {
    if (at == nullptr) return fixed;
    return type == DType::kF64 ? *static_cast<const double*>(at) : static_cast<double>(*static_cast<const float*>(at));
  }
};

}  // namespace ampc::cuda
