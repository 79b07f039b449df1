// Parameters of grid_sampler and its gradient.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/common/grid_sample.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

// Unsupported where there is no position to sample.
absl::StatusOr<GridSampler> ReadGridSampler(const SpecView& view);

}  // namespace ampc
