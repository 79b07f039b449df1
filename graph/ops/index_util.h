// Ops that take or change the elements at positions given by an index tensor.
#pragma once

#include "graph/ops/infer_util.h"

namespace ampc::ops {

// The dims of what Index [.., k] names in X: those of Index without the last, then those of X from k on; absent when not known.
absl::StatusOr<std::optional<Dims>> NdIndexed(const InferContext& ctx, int c);
// The operand in `slot` has the dims `want`, as far as they are known.
absl::Status NeedDims(const InferContext& ctx, absl::string_view slot, const Dims& want, int c);
// Index has rank 0 or 1, or is [n, 1].
absl::Status NeedIndexList(const InferContext& ctx, absl::string_view slot, int c);
// Reads and writes the results once, and the operand in `index_slot`.
Cost IndexCost(const Op& op, absl::string_view index_slot);

}  // namespace ampc::ops
