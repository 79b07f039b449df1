// Rounding of sizes to the alignment of tensors and workspaces.
#pragma once

#include <cstdint>

namespace ampc {

inline constexpr int64_t kAlignment = 64;  // bytes: a cache line, and a register of AVX-512

inline int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace ampc
