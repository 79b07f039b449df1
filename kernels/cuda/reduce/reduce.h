// Launchers of reductions. Each returns 0 or a code for Device::LaunchStatus; `workspace` is device memory for the shape's partial results
// of the given size. Results depend on neither the device nor chance: partial results are combined in an order that follows from the shape.
#pragma once

#include <cstdint>

#include "kernels/common/reduction.h"
#include "kernels/cuda/launch/any.h"
#include "kernels/cuda/reduce/reduce_shape.h"

namespace ampc::cuda {

struct ReduceParams {
  ReduceShape shape;
  AnyInput x;
  AnyOutput out;
  void* workspace = nullptr;
};

// Floats are added in float32 over at most 16 elements and in double over them; integers in int64_t, which wraps.
inline constexpr int64_t kReducePartBytes = 8;
int LaunchReduce(void* stream, Reduction op, const ReduceParams& p);

// Of float types; kinds and order as VectorNorm (kernels/spec/reduce_spec.h), in double.
inline constexpr int64_t kNormPartBytes = 16;
int LaunchVectorNorm(void* stream, VectorNormKind kind, double order, const ReduceParams& p);

// The first position of the largest (or smallest) element that is beyond the lowest (highest) number of the type in memory on the CPU;
// NaN is passed over; 0 where there is none.
inline constexpr int64_t kArgPartBytes = 16;
int LaunchArgExtreme(void* stream, bool largest, const ReduceParams& p);

}  // namespace ampc::cuda
