// Ops of a nested block become ops of the block around it.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/program.h"

namespace ampc::onnx {

// Takes the variables and ops out of `from`: copies of them belong to `to`, which encloses it, and so do copies of the blocks that the ops
// have. The variables get new names. Returns the ops in order, not yet in `to`; `from` and the blocks inside are left empty and belong to
// no op.
std::vector<std::unique_ptr<Op>> InlineBlock(Block& from, Block& to);

// The same for the body of `call` (graph/ops/onnx/function_body.h), which is in no block: the call's operands are read directly, and
// assigns give its results. `to` has no ops at the moment.
absl::StatusOr<std::vector<std::unique_ptr<Op>>> InlineCall(const Op& call, Block& to);

// `block` and all blocks inside, by index.
void AddBlocksIn(const Block& block, std::vector<int>* blocks);

}  // namespace ampc::onnx
