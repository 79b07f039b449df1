// roi_align and its gradient. X and what is made of it have the type `type`, a float; means are computed in f32.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/roi_align.h"

namespace ampc::cuda {

struct RoiInputs {
  DType type = DType::kF32;    // of rois, a float
  const void* rois = nullptr;  // [boxes, 4]
  const void* num = nullptr;   // boxes of each image, i32 or i64; null: all belong to image 0
  DType num_type = DType::kI32;
};
// A box that the counts give to no image has NaN.
int LaunchRoiAlign(void* stream, DType type, const RoiAlign& r, const RoiInputs& in, const void* x, void* out);
// Each element adds what it gave to the bins, one box after the other.
int LaunchRoiAlignGradient(void* stream, DType type, const RoiAlign& r, const RoiInputs& in, const void* gradient, void* out);

}  // namespace ampc::cuda
