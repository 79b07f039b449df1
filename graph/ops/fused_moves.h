// Moves of elements inside a matmul_v2, as Paddle's passes for oneDNN make them.
#pragma once

#include <algorithm>
#include <iterator>

#include "graph/op.h"

namespace ampc::ops {

inline constexpr const char* kFusedMoves[] = {"fused_reshape_X",   "fused_reshape_Y",   "fused_transpose_X",
                                              "fused_transpose_Y", "fused_reshape_Out", "fused_transpose_Out"};

// An operand or the result is reshaped or transposed by the op itself: its operands are not the product's factors as they lie.
inline bool HasFusedMoves(const Op& op) {
  return std::any_of(std::begin(kFusedMoves), std::end(kFusedMoves), [&op](const char* attr) { return !op.GetInts(attr).empty(); });
}

}  // namespace ampc::ops
