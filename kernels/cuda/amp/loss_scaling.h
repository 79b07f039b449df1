// Launchers of check_finite_and_unscale and update_loss_scaling.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/loss_scale.h"
#include "kernels/cuda/multi_tensor/scalar.h"

namespace ampc::cuda {

struct UnscaleTensor {
  const void* x = nullptr;
  void* out = nullptr;  // may be x; null: x is only looked at
  int64_t elements = 0;
  DType type = DType::kF32;
};

struct UnscaleParams {
  Scalar scale;
  bool* found = nullptr;
  double* inverse = nullptr;  // workspace of one number
};

// out = x * (1 / scale) for all tensors; found: whether a result, rounded to its type where there is an out, is not finite. Two launches
// for up to several hundred tensors, the first of one thread. Threads that find something all write the same.
int LaunchUnscale(void* stream, const UnscaleTensor* tensors, int64_t n, const UnscaleParams& p);

struct ScalingTensor {
  const void* x = nullptr;
  void* out = nullptr;   // may be x
  int64_t elements = 0;  // pieces of 16 bytes, the last of them possibly a part
  int64_t bytes = 0;
};

struct ScalingParams {
  const bool* found = nullptr;
  const bool* stop = nullptr;  // null: never
  bool always_stop = false;
  bool is_double = false;  // the scale is f64, else f32
  LossScalePolicy policy;
  const void* scale = nullptr;
  const int32_t* good = nullptr;
  const int32_t* bad = nullptr;
  void* scale_out = nullptr;  // each null where the op has no such result, or the operand itself
  int32_t* good_out = nullptr;
  int32_t* bad_out = nullptr;
};

// Zeroes the tensors where found, else copies those that do not lie where their operand does; moves the scale by NextLossScale.
int LaunchUpdateScaling(void* stream, const ScalingTensor* tensors, int64_t n, const ScalingParams& p);

}  // namespace ampc::cuda
