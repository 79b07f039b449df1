// Parameters of roi_align and its gradient.
#pragma once

#include "kernels/common/roi_align.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

RoiAlign ReadRoiAlign(const SpecView& view);

}  // namespace ampc
