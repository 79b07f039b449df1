// Removing whole blocks from a program.
#pragma once

#include <vector>

#include "graph/program.h"

namespace ampc {

// A copy without the blocks for which `dead` (by block index, all of num_blocks()) is true; nothing that stays may refer to them, and the
// blocks inside a dead one are dead, too. Blocks, ops and variables are numbered anew. O(program).
Program WithoutBlocks(const Program& program, const std::vector<bool>& dead);

}  // namespace ampc
