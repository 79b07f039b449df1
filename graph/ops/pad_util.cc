#include "graph/ops/pad_util.h"

#include <algorithm>

#include "graph/base/size.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

absl::Status PadDim(const InferContext& ctx, std::optional<int64_t> before, std::optional<int64_t> after, bool reflects, int c,
                    int64_t* dim) {
  if (before == 0 && after == 0) return absl::OkStatus();
  if (!before.has_value() || !after.has_value() || !IsKnown(*dim)) {
    *dim = kUnknownDim;
    return absl::OkStatus();
  }
  if (reflects && (*before >= *dim || *after >= *dim)) {
    return Fail(ctx, c, "reflects ", std::max(*before, *after), " of ", *dim, " positions, needs fewer than all");
  }
  const int64_t out = SatAdd(*dim, SatAdd(*before, *after));
  if (out < 1 && *dim > 0) return Fail(ctx, c + 1, "leaves ", out, " of ", *dim, " positions, needs at least 1");
  *dim = out;
  return absl::OkStatus();
}

}  // namespace ampc::ops
