// yolo_box and box_coder. Tensors have the type `type`, a float, computed in f32.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/boxes.h"

namespace ampc::cuda {

// sizes: height and width of each image, i32 or i64; map_elements: of an image of x.
struct YoloInputs {
  DType type = DType::kF32, size_type = DType::kI32;
  const void* x = nullptr;
  const void* sizes = nullptr;
  int64_t map_elements = 0;
};
int LaunchYoloBox(void* stream, const YoloBox& y, const YoloInputs& in, void* boxes, void* scores);

struct BoxCoder {
  DType type = DType::kF32;
  bool encode = false, rows = false;  // as in BoxCoderSpec
  int64_t n = 0, m = 0;
  float more = 0, variance[4] = {1, 1, 1, 1};
};
// variances: of each prior, or null for those of the coder.
int LaunchBoxCoder(void* stream, const BoxCoder& b, const void* priors, const void* variances, const void* targets, void* out);

}  // namespace ampc::cuda
