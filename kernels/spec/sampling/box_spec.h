// Parameters of yolo_box, prior_box and box_coder.
#pragma once

#include <array>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/common/boxes.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

absl::StatusOr<YoloBox> ReadYoloBox(const SpecView& view);

// Depend on shapes and attributes only.
struct PriorBoxes {
  std::vector<float> boxes, variances;
};
absl::StatusOr<PriorBoxes> ReadPriorBoxes(const SpecView& view);

// The result is [n, m, 4].
struct BoxCoderSpec {
  bool encode = false;
  bool rows = false;  // priors lie along dim 0 of the result, else along dim 1
  int64_t n = 0, m = 0;
  float more = 0;  // that a box is wider than its corners' difference
  std::array<float, 4> variance = {1, 1, 1, 1};
};
absl::StatusOr<BoxCoderSpec> ReadBoxCoder(const SpecView& view);

}  // namespace ampc
