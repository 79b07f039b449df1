// Partial reductions of one chunk, by storage type. A chunk is small, and chunks are combined in their order, so a result
// does not depend on which thread computed what.
#pragma once

#include <cstdint>
#include <type_traits>

#include "graph/base/dtype.h"
#include "kernels/common/reduction.h"

namespace ampc {

inline constexpr int64_t kChunkRun = 4096;    // elements of a contiguous chunk
inline constexpr int64_t kChunkRows = 1024;   // rows of a column chunk
inline constexpr int64_t kChunkColumns = 64;  // columns of a column chunk

// Floats accumulate in double across runs (inside a run of float32 in float32), bool and integers in int64_t (u64 in uint64_t), which
// wraps. out[c] is the chunk's result for column c.
template <typename Acc>
using PartialFn = void (*)(const void* x, int64_t rows, int64_t stride, int64_t columns, Acc* out);

// `contiguous`: for chunks of one column and stride 1, at most kChunkRun rows; else at most kChunkRows and kChunkColumns.
// Null when the type does not accumulate in Acc.
template <typename Acc>
PartialFn<Acc> FindPartial(Reduction op, DType storage, bool contiguous);

// The value that combines with any other without changing it, and the combination.
template <typename Acc>
Acc StartOf(Reduction op);
template <typename Acc>
Acc Combine(Reduction op, Acc a, Acc b);

}  // namespace ampc
