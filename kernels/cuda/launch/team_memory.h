// How many threads a team has, and how they share a block's memory.
#pragma once

#include <cstdint>

namespace ampc::cuda {

// Of the memory that a block has on every device without asking for more, a team's scratch takes a part: a partial result of 32 bytes from
// each of 32 warps. A launch that asks for more than the rest as Team::shared is refused.
inline constexpr int kScratchBytes = 1024;
inline constexpr int kSharedBytes = (48 << 10) - kScratchBytes;

// A team whose loops have at most so many items has 32 threads, or 256; with more, 1024.
inline constexpr int64_t kWarpWork = 128;
inline constexpr int64_t kBlockWork = 2048;

}  // namespace ampc::cuda
