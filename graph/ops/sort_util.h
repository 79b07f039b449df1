// argsort, top_k and top_k_v2.
#pragma once

#include "graph/ops/infer_util.h"

namespace ampc::ops {

// Out like X with `size` elements along the axis, and Indices of the same dims in i64.
absl::Status InferSorted(InferContext& ctx, int64_t axis, std::optional<int64_t> size, int c);
// Comparisons of a sort: log2(n) per element of X.
Cost SortCost(const Op& op);
// Its class under AMP.
OpDef& SortAmp(OpDef& def);

}  // namespace ampc::ops
