// How the threads of a team share a block's memory.
#pragma once

namespace ampc::cuda {

// Of the memory that a block has on every device without asking for more, a team's scratch takes a part: a partial result of 32 bytes from each
// of 32 warps. A launch that asks for more than the rest as Team::shared is refused.
inline constexpr int kScratchBytes = 1024;
inline constexpr int kSharedBytes = (48 << 10) - kScratchBytes;

}  // namespace ampc::cuda
