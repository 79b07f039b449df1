// The vector loop of a binary functor.
#pragma once

#include <optional>

#include "kernels/common/binary_math.h"
#include "kernels/cpu/simd/elementwise.h"

namespace ampc {

// nullopt: there is none.
inline std::optional<simd::BinaryOp> VectorOp(Op2 op) {
  using simd::BinaryOp;
  constexpr BinaryOp kOps[] = {BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul,  BinaryOp::kDiv, BinaryOp::kMax,
                               BinaryOp::kMin, BinaryOp::kPow, BinaryOp::kFMax, BinaryOp::kFMin};
  if (op >= Op2::kMod) return std::nullopt;
  return kOps[static_cast<int>(op)];
}

}  // namespace ampc
