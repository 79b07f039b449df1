#include "graph/ops/prior_ratios.h"

#include <algorithm>
#include <cmath>

namespace ampc::ops {

std::vector<float> PriorRatios(const Op& op) {
  std::vector<float> ratios = {1.0f};
  const bool flip = op.GetBool("flip");
  for (double given : op.GetFloats("aspect_ratios")) {
    const float ratio = static_cast<float>(given);
    if (std::any_of(ratios.begin(), ratios.end(), [ratio](float r) { return std::abs(ratio - r) < 1e-6f; })) continue;
    ratios.push_back(ratio);
    if (flip) ratios.push_back(1.0f / ratio);
  }
  return ratios;
}

}  // namespace ampc::ops
