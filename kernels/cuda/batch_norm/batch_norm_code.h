// Launchers of the device code of batch_norm.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/activation.h"
#include "kernels/cuda/base/any_float.h"

namespace ampc::cuda {

// X in memory order [images, channels, spatial]; where channels lie last, spatial is 1 and images counts positions.
struct BatchNormShape {
  DType type = DType::kF32;
  int64_t images = 0, channels = 0, spatial = 0;
  AMPC_HOST_DEVICE int64_t count() const { return images * spatial; }  // of a channel
};

// Parameters and statistics per channel; absent results are not written. A running result may be its operand's memory.
struct BatchNormRun {
  BatchNormShape shape;
  const void* x = nullptr;
  void* y = nullptr;
  AnyFloat scale, bias, mean, variance;                        // operands; running statistics
  AnyFloat mean_out, variance_out, saved_mean, saved_inverse;  // results
  AnyFloat momentum;                                           // one number; absent: `keep`
  float keep = 0.9f;
  bool training = false;  // statistics of X, else the running ones
  double epsilon = 1e-5;
  Activation activation;
  void* workspace = nullptr;  // BatchNormWorkspace
};

struct BatchNormGradientRun {
  BatchNormShape shape;
  const void* x = nullptr;
  const void* gradient = nullptr;  // of y; both of the shape's type
  void* to = nullptr;              // gradient of x, may be `gradient`; null: not wanted
  AnyFloat scale, mean, variance;  // statistics absent: computed from X again
  bool variance_inverted = false;  // `variance` is 1 / sqrt(variance + epsilon)
  bool given = false;              // statistics do not depend on X
  double epsilon = 1e-5;
  AnyFloat to_scale, to_bias;
  void* workspace = nullptr;
};

int64_t BatchNormWorkspace(const BatchNormShape& shape);
int LaunchBatchNorm(void* stream, const BatchNormRun& run);
int LaunchBatchNormGradient(void* stream, const BatchNormGradientRun& run);

}  // namespace ampc::cuda
