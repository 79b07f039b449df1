// Common parts of pad, pad2d and pad3d.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/infer_context.h"

namespace ampc::ops {

// Lengthens `dim` by the padding before and after it; either may be unknown. Constraints `c` (a reflection needs more positions than it
// copies) and `c` + 1 (something is left of a dimension that negative paddings cut).
absl::Status PadDim(const InferContext& ctx, std::optional<int64_t> before, std::optional<int64_t> after, bool reflects, int c,
                    int64_t* dim);

}  // namespace ampc::ops
