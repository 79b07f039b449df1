// The aspect ratios of prior_box, for inference and kernels.
#pragma once

#include <vector>

#include "graph/op.h"

namespace ampc::ops {

// 1, then each of aspect_ratios that is not there yet, with 'flip' followed by its reciprocal.
std::vector<float> PriorRatios(const Op& op);

}  // namespace ampc::ops
